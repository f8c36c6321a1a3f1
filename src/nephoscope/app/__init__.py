"""The command line, what people see while a study runs, and the wiring of the real parts."""
