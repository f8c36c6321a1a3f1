"""What lets the servers of a trial know each other: a key and its certificate, drawn for that trial.

All of them have the same. The certificate signs itself, so who has the key is one of them, and nobody else is.
"""

import ipaddress
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta

from nephoscope.databases.programs import write_secret
from nephoscope.machines.remote import MachineHandle

CERTIFICATE, KEY = "cert.pem", "key.pem"
_LASTS = timedelta(days=3650)
_CLOCKS_DIFFER = timedelta(days=1)
"""Between machines, at most."""


def drawn(machines: Iterable[MachineHandle]) -> Mapping[str, bytes]:
    """A new one that names the addresses of these machines: PEM by file name."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key, now = ec.generate_private_key(ec.SECP256R1()), datetime.now(UTC)
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "nephoscope")])
    addresses = [x509.IPAddress(ipaddress.ip_address(one.address)) for one in machines]
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _CLOCKS_DIFFER)
        .not_valid_after(now + _LASTS)
        .add_extension(x509.SubjectAlternativeName(dict.fromkeys(addresses)), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    pem, plain = serialization.Encoding.PEM, serialization.NoEncryption()
    return {
        CERTIFICATE: certificate.public_bytes(pem),
        KEY: key.private_bytes(pem, serialization.PrivateFormat.PKCS8, plain),
    }


async def give(machine: MachineHandle, folder: str, identity: Mapping[str, bytes]) -> None:
    """Writes it where nobody else may read it."""
    for name, text in identity.items():
        await write_secret(machine, f"{folder}/{name}", text.decode())
