"""The studies whose controllers are killed: short trials, so that kills hit every moment of a trial."""

ON_LOCAL = """
name = "soak"
seed = {seed}
replicates = 4
repeat_rejected = 0

[[configurations]]
name = "one"
provider = "local"
database_machine = {{ cpus = 1 }}

[[benchmarks]]
uses = "stress-ng"
parameters = {{ stressor = "matrix", duration_s = 1 }}
"""

ON_EMULATED = """
name = "soak"
seed = {seed}
replicates = 3
repeat_rejected = 0

[[machine_types]]
name = "small"
vcpus = 1
memory_gib = 0.5
disk_gib = 0.25

[[configurations]]
name = "small"
provider = "emulated"
database_machine = {{ type = "small" }}
load_machine = {{ type = "small" }}

[[benchmarks]]
uses = "stress-ng"
parameters = {{ stressor = "matrix", duration_s = 2 }}
"""

_CLOUD = """
name = "soak"
seed = {{seed}}
replicates = 6

[[configurations]]
name = "small"
provider = "{provider}"
region = "{region}"
zone = "{zone}"
cloud = {{{{ image = "{image}", ingress = "203.0.113.7/32" }}}}
price_usd_per_hour = 360.0
load_machine = {{{{ type = "{type}" }}}}
database = {{{{ system = "fake" }}}}
[configurations.database_machine]
type = "{type}"
count = 2
volumes = [{{{{ kind = "{volume}", size = 100, iops = 8000{throughput} }}}}]

[[benchmarks]]
uses = "fake"
parameters = {{{{ duration_s = 1.5, database = true }}}}
"""
ON_CLOUD = {
    "aws": _CLOUD.format(
        provider="aws",
        region="us-east-1",
        zone="us-east-1a",
        image="ami-12c6146b",
        type="m6i.large",
        volume="gp3",
        throughput="",
    ),
    "gcp": _CLOUD.format(
        provider="gcp",
        region="us-east4",
        zone="us-east4-a",
        image="projects/debian-cloud/global/images/debian-12-bookworm-v20261012",
        type="n2-standard-8",
        volume="hyperdisk-balanced",
        throughput=", throughput = 500",
    ),
    "azure": _CLOUD.format(
        provider="azure",
        region="eastus",
        zone="1",
        image="Debian:debian-12:12-gen2:0.20261012.1",
        type="Standard_D8s_v5",
        volume="PremiumV2_LRS",
        throughput=", throughput = 500",
    ),
}
"""By provider."""
