"""Executes a trial's commands and records each one, including those that fail or are killed."""

from pathlib import Path

from nephoscope.machines.remote import Command, Completed, MachineHandle
from nephoscope.model.errors import NephoscopeError
from nephoscope.model.records import CommandRecord
from nephoscope.run.clock import Clock
from nephoscope.store.attempt import Attempt


class Recorder:
    """An `Execute` for one attempt."""

    def __init__(self, attempt: Attempt, clock: Clock) -> None:
        self._attempt = attempt
        self._clock = clock

    async def __call__(self, machine: MachineHandle, name: str, command: Command) -> Completed:
        """See `Execute`; the environment is not written down, as secrets travel in it."""
        started_unix_ms, started_s = self._clock.unix_ms(), self._clock.monotonic_s()
        exit_code: int | None = None
        missing = False
        self._attempt.require_place()
        try:
            completed = await machine.remote.execute(command, save_as=self._attempt.raw_dir / name)
            exit_code = completed.exit_code
        except NephoscopeError as error:
            missing = error.failure_class == "tool_missing"
            raise
        else:
            return completed
        finally:
            if not missing:
                self._attempt.add_command(
                    CommandRecord(
                        argv=[Path(command.argv[0]).name, *command.argv[1:]],
                        machine=machine.name,
                        started_unix_ms=started_unix_ms,
                        duration_s=self._clock.monotonic_s() - started_s,
                        exit_code=exit_code,
                        allowed_exit_codes=list(command.allowed),
                        output=name,
                    )
                )
