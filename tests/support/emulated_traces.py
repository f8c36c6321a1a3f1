"""What a study on emulated hosts leaves on this machine while it runs, and how often it began each load."""

import hashlib
import subprocess

from nephoscope.store.folder import ResultsFolder


def traces(folder: ResultsFolder) -> list[str]:
    """What is on this machine of the folder's clusters: namespaces, links, loop devices, control groups, processes."""
    looks = (
        "ip netns list",
        "ip -brief link",
        "losetup --noheadings --output BACK-FILE",
        "find /sys/fs/cgroup -path '*/nephoscope*' -type d",
        "find /run/nephoscope/emulated -maxdepth 1",
        "ps -eo args",
    )
    leases = (attempt.lease() for _, trial in folder.planned() for attempt in trial.attempts())
    names = {hashlib.sha256(lease.cluster.encode()).hexdigest()[:6] for lease in leases if lease}
    names.add(str(folder.path))
    said = [subprocess.run(["sh", "-c", look], capture_output=True, text=True, check=False).stdout for look in looks]
    return [line for text in said for line in text.splitlines() if any(name in line for name in names)]


def loads_begun(folder: ResultsFolder) -> dict[str, int]:
    """Attempts of each trial that came as far as their load: nothing is begun before `resume.json` is there."""
    return {
        planned.intent.id: sum(attempt.resumption() is not None for attempt in trial.attempts())
        for planned, trial in folder.planned()
    }
