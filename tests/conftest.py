"""For all tests: property tests have no deadline, as a shared machine may be slow at any moment."""

from hypothesis import settings

settings.register_profile("nephoscope", deadline=None, print_blob=True)
settings.load_profile("nephoscope")
