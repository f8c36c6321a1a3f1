"""What a study says about CPU time that the hypervisor took."""

from typing import Literal

Disturbance = Literal["reject", "record"]
"""What happens to a trial from which the hypervisor took CPU time: it is rejected, or it counts and the loss is
recorded."""
