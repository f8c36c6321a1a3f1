"""The design of a CPU by its CPUID: clouds hide model names ('Intel(R) Xeon(R) CPU @ 2.80GHz') but not this.

Sources: the Linux kernel's arch/x86/include/asm/intel-family.h; AMD's Processor Programming References. Skylake,
Cascade Lake and Cooper Lake share a model number and differ in the stepping.
"""

from collections.abc import Mapping

from nephoscope.model.records import Facts

_INTEL_FAMILY = 6
_SKYLAKE_MODEL = 85
_FIRST_CASCADE_LAKE_STEPPING, _FIRST_COOPER_LAKE_STEPPING = 5, 8

_INTEL: Mapping[int, str] = {
    45: "Sandy Bridge",
    62: "Ivy Bridge",
    63: "Haswell",
    79: "Broadwell",
    106: "Ice Lake",
    108: "Ice Lake",
    143: "Sapphire Rapids",
    207: "Emerald Rapids",
    173: "Granite Rapids",
}
_AMD: Mapping[tuple[int, int], str] = {
    (23, 1): "Naples",
    (23, 49): "Rome",
    (25, 1): "Milan",
    (25, 17): "Genoa",
    (25, 160): "Bergamo",
    (26, 2): "Turin",
}
_VENDORS: Mapping[str, str] = {
    "GenuineIntel": "Intel",
    "AuthenticAMD": "AMD",
    "Intel": "Intel",
    "AMD": "AMD",
    "ARM": "Arm",
    "Ampere": "Arm",
}


def vendor_of(facts: Facts) -> str | None:
    """'AMD', 'Intel' or 'Arm'; None: unknown, or another vendor."""
    return _VENDORS.get(facts.cpu_vendor or "")


def design_of(facts: Facts) -> str | None:
    """'Milan', 'Ice Lake'; None where CPUID was not seen or is not in the table: never guessed from a model name."""
    family, model = facts.cpu_family, facts.cpu_model_number
    if family is None or model is None:
        return None
    vendor = vendor_of(facts)
    if vendor == "AMD":
        return _AMD.get((family, model))
    if vendor == "Intel" and family == _INTEL_FAMILY:
        return _of_model_85(facts.cpu_stepping) if model == _SKYLAKE_MODEL else _INTEL.get(model)
    return None


def _of_model_85(stepping: int | None) -> str | None:
    if stepping is None:
        return None
    if stepping < _FIRST_CASCADE_LAKE_STEPPING:
        return "Skylake"
    return "Cascade Lake" if stepping < _FIRST_COOPER_LAKE_STEPPING else "Cooper Lake"
