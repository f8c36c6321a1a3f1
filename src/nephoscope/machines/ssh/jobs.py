"""Jobs on a host, as shell scripts and their answers; pure.

A job is a folder on the host, made by one atomic `mkdir` before anything starts, so that it never starts twice:
`in`, `out`, `err`, `rc` (exit code), `sid` (its session), `born` (when that began), `pid`, `late` (its deadline ended
it), `kept` (whose last change puts off the deadline) and `lock`, which is held as long as the job lives. Waiting for a
job means waiting for its lock, which costs the host nothing.

POSIX sh with `setsid`, `flock` (util-linux), `pkill` (procps) and GNU `head`, `tail`.
"""

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from nephoscope.model.errors import OutputUnreadable

REQUIRED_TOOLS = ("setsid", "flock", "pkill", "taskset", "head", "tail", "sha256sum")

_MARK = "nephoscope"
_NUMBER = re.compile("[0-9]{1,15}")
_CPUS = re.compile("[1-9][0-9]{0,4}")
"""Linux knows no more of them."""
ENDED = f"{_MARK} ended".encode()
"""Start of the answer to `wait_command`."""
_SAY = f"say() {{ printf '{_MARK} %s\\n' \"$*\"; exit 0; }}\n"

_BORN = """
born() {
    read -r boot </proc/sys/kernel/random/boot_id
    { read -r stat <"/proc/$1/stat"; } 2>/dev/null || { echo "$boot"; return; }
    set -- ${stat##*) }
    shift 19
    echo "$boot $1"
}
lives() {
    [ -s "$1/sid" ] && [ -s "$1/born" ] && [ ! -e "$1/rc" ] || return 1
    read -r was <"$1/born"
    now=$(born "$(cat "$1/sid")")
    [ "$now" = "$was" ] || [ "$now" = "${was% *}" ]
}
"""
"""When the process of a number was born: the kernel's start and, in ticks, its own; only the former if there is none.

And whether a job's session is still its own: after a restart of the host its number may be anybody's. Without one it is
not given again as long as one of the session's processes is there.
"""
_SUPERVISE = (
    _BORN
    + """
job=$1 deadline=$2
shift 2
born $$ >"$job/born"
echo $$ >"$job/sid"
. "$job/env"
rm -f "$job/env"
(
    sleep "$deadline"
    while [ -e "$job/kept" ]; do
        left=$(( ${deadline%.*} + $(stat -c %Y "$job/kept") - $(date +%s) ))
        [ "$left" -gt 0 ] || break
        sleep "$left"
    done
    : >"$job/late"
    exec pkill -KILL -s $$
) </dev/null >/dev/null 2>&1 9>&- &
sh -c 'echo $$ >"$0"; exec "$@"' "$job/pid" "$@" <"$job/in" >"$job/out" 2>"$job/err" 9>&-
echo $? >"$job/rc.new" && mv "$job/rc.new" "$job/rc"
exec pkill -KILL -s $$
"""
)
"""In its own session, so that the last line can kill whatever the job left behind."""

_LAUNCH = (
    _SAY
    + """
umask 077
root=$1 job=$2 tool=$3 env_bytes=$4 in_bytes=$5 deadline=$6 then=$7
shift 7
PATH="$PATH:/usr/local/sbin:/usr/sbin:/sbin"
export PATH
command -v -- "$tool" >/dev/null 2>&1 || say missing
why=$(mkdir -p "$root" 2>&1) || say unwritable "$why"
if ! why=$(mkdir "$job" 2>&1); then
    [ -d "$job" ] && say exists
    say unwritable "$why"
fi
why=$( { head -c "$env_bytes" >"$job/env" && head -c "$in_bytes" >"$job/in"; } 2>&1 ) || say unwritable "$why"
if [ "$(wc -c <"$job/env")" -ne "$env_bytes" ] || [ "$(wc -c <"$job/in")" -ne "$in_bytes" ]; then
    rm -rf "$job"
    exit 1
fi
exec 9>"$job/lock"
flock 9
: >"$job/out"
: >"$job/begun"
setsid --fork sh -c "$SUPERVISE" nephoscope "$job" "$deadline" "$@" </dev/null >/dev/null 2>&1
[ "$then" = wait ] || say started
exec 9>&-
"""
)

_WAIT = """
tries=250
until [ -e "$job/begun" ] || [ ! -d "$job" ] || [ $tries -eq 0 ]; do tries=$((tries - 1)); sleep 0.02; done
[ -e "$job/begun" ] || say absent
flock -s "$job/lock" true
state=killed
[ ! -e "$job/late" ] || state=late
[ ! -e "$job/rc" ] || state=$(cat "$job/rc")
touch "$job/out" "$job/err"
free=$(df -Pk "$job" | tail -n 1 | tr -s ' ' | cut -d ' ' -f 4)
printf 'nephoscope ended %s %s %s %s\\n' "$state" "$(wc -c <"$job/out")" "$(wc -c <"$job/err")" "$free"
cat "$job/out" "$job/err"
"""

_TAIL = """
tail -c "+$2" -f "$1/out" &
flock -s "$1/lock" true
kill $!
"""

_SIGNAL = """
job=$1 tries=100
until [ -s "$job/pid" ] || [ $tries -eq 0 ]; do tries=$((tries - 1)); sleep 0.02; done
! lives "$job" || kill -s "$2" "$(cat "$job/pid")"
"""

_KILL = """
job=$1 tries=100
until [ -s "$job/sid" ] || [ $tries -eq 0 ]; do tries=$((tries - 1)); sleep 0.02; done
! lives "$job" || pkill -KILL -s "$(cat "$job/sid")"
"""

_KEEP = '[ ! -d "$1" ] || touch "$1/kept"'

_END_ALL = """
ended=0
for job in "$1"/*; do
    case $job in */"$2".*) [ -z "$2" ] || continue ;; esac
    if lives "$job" && pkill -KILL -s "$(cat "$job/sid")"; then ended=$((ended + 1)); fi
    tries=50
    until rm -rf "$job" 2>/dev/null || [ $tries -eq 0 ]; do tries=$((tries - 1)); sleep 0.02; done
done
rmdir "$1" 2>/dev/null
echo "$ended"
"""
"""A process that waits for this job may still touch its files during the removal, hence the retries."""

_PROBE = """
PATH="$PATH:/usr/local/sbin:/usr/sbin:/sbin"
missing=
for tool in "$@"; do command -v -- "$tool" >/dev/null 2>&1 || missing="$missing $tool"; done
printf '%s\\n' "$(id -u)" "$HOME" "$(nproc)" "$(hostname)" "$(uname -m)" "$missing"
"""


class Start(StrEnum):
    """A host's answers to starting a job."""

    STARTED = "started"
    EXISTS = "exists"
    """A job of that name was started before, by this controller or an earlier one."""
    MISSING = "missing"
    UNWRITABLE = "unwritable"


@dataclass(frozen=True)
class JobSpec:
    """A job before it starts. Input and environment travel by stdin, because everybody can see a command line."""

    root: str
    folder: str
    tool: str
    argv: tuple[str, ...]
    deadline_s: float
    stdin: bytes
    environment: Mapping[str, str]

    def command(self, *, wait: bool) -> str:
        """The shell line that starts it, and optionally waits for its end (see `wait_command`)."""
        exports = self._exports()
        return _script(
            f"SUPERVISE={shlex.quote(_SUPERVISE)}\n{_LAUNCH}{_WAIT}",
            *(self.root, self.folder, self.tool, str(len(exports)), str(len(self.stdin))),
            *(f"{self.deadline_s:.3f}", "wait" if wait else "return", *self.argv),
        )

    def input(self) -> bytes:
        """The input of that line."""
        return self._exports() + self.stdin

    def _exports(self) -> bytes:
        lines = (f"export {name}={shlex.quote(value)}\n" for name, value in self.environment.items())
        return "".join(lines).encode()


@dataclass(frozen=True)
class JobEnd:
    """How a job ended. `exit_code` is None if it was killed; `late`: by its own deadline."""

    exit_code: int | None
    late: bool
    stdout: bytes
    stderr: bytes
    free_bytes: int | None


@dataclass(frozen=True)
class HostLook:
    """What a host reports about itself at the first contact."""

    user_id: int
    home: str
    cpus: int
    hostname: str
    machine: str
    """What `uname -m` prints: 'x86_64', 'aarch64'."""
    missing: tuple[str, ...]


def wait_command(folder: str) -> str:
    """Waits for the end of a job, then prints how it ended and its output."""
    return _script(f"{_SAY}job=$1\n{_WAIT}", folder)


def tail_command(folder: str, offset: int) -> str:
    """Prints a job's stdout from a byte on, as it grows, until the job ends."""
    return _script(_TAIL, folder, str(offset + 1))


def signal_command(folder: str, signal_name: str) -> str:
    """Sends a signal ('INT') to the job's program, and to no other process."""
    return _script(_BORN + _SIGNAL, folder, signal_name)


def kill_command(folder: str) -> str:
    """Kills every process of the job's session."""
    return _script(_BORN + _KILL, folder)


def keep_command(folder: str) -> str:
    """Lets a job's deadline count from now on."""
    return _script(_KEEP, folder)


def end_all_command(jobs: str, keep: str) -> str:
    """Kills and removes all jobs in a folder except those of one session, and prints how many were still running."""
    return _script(_BORN + _END_ALL, jobs, keep)


def probe_command() -> str:
    """Queries what `parse_look` reads."""
    return _script(_PROBE, *REQUIRED_TOOLS)


def question(script: str, *arguments: str) -> str:
    """A short script that is not a job: it may run twice."""
    return _script(script, *arguments)


def parse_start(answer: bytes) -> tuple[Start, str] | None:
    """The host's answer to `JobSpec.command`, with its reason; None if it was cut off."""
    words = _header(answer)
    return (Start(words[0]), " ".join(words[1:])) if words and words[0] in set(Start) else None


def parse_end(answer: bytes) -> JobEnd | None:
    """The host's answer to `wait_command`; None if it was cut off.

    Raises:
        OutputUnreadable: the job was never started, or the host says something else.
    """
    words = _header(answer)
    if words == ["absent"]:
        raise OutputUnreadable("the job is not on the host: it never started there, or its folder was removed")
    if not words or words[0] != "ended" or len(words) < 4:
        return None
    body = answer.split(b"\n", 1)[1]
    if not (_NUMBER.fullmatch(words[2]) and _NUMBER.fullmatch(words[3])):
        raise OutputUnreadable(f"unexpected format: the host answered {' '.join(words)[:80]!r} at the end of a job")
    out_bytes, err_bytes = int(words[2]), int(words[3])
    if len(body) < out_bytes + err_bytes:
        return None
    free = words[4] if len(words) > 4 else ""
    return JobEnd(
        exit_code=int(words[1]) if _NUMBER.fullmatch(words[1]) else None,
        late=words[1] == "late",
        stdout=body[:out_bytes],
        stderr=body[out_bytes : out_bytes + err_bytes],
        free_bytes=int(free) * 1024 if _NUMBER.fullmatch(free) else None,
    )


def parse_ended(answer: bytes) -> int:
    """The host's answer to `end_all_command`.

    Raises:
        OutputUnreadable: it is no number.
    """
    text = answer.decode(errors="replace").strip() or "0"
    if not _NUMBER.fullmatch(text):
        raise OutputUnreadable(f"unexpected format: the host answered {text[:80]!r} instead of a number of jobs")
    return int(text)


def parse_look(answer: bytes, complaint: bytes = b"") -> HostLook:
    """The host's answer to `probe_command`, and what it complained on stderr.

    Raises:
        OutputUnreadable: unexpected answer: its login shell prints text, or is not a shell.
    """
    lines = answer.decode(errors="replace").splitlines()
    if len(lines) != 6 or not _NUMBER.fullmatch(lines[0]) or not _CPUS.fullmatch(lines[2]):
        shown = lines[:3] or complaint.decode(errors="replace").splitlines()[-3:]
        raise OutputUnreadable(
            f"unexpected format: the host answered {repr(shown)[:300]} instead of the user's identity",
            hint="give the user a POSIX login shell that prints nothing by itself",
        )
    return HostLook(int(lines[0]), lines[1], int(lines[2]), lines[3], lines[4], tuple(lines[5].split()))


def _script(script: str, *arguments: str) -> str:
    return shlex.join(["sh", "-c", script, _MARK, *arguments])


def _header(answer: bytes) -> Sequence[str]:
    first, newline, _ = answer.partition(b"\n")
    words = first.decode(errors="replace").split()
    return words[1:] if newline and words[:1] == [_MARK] else []
