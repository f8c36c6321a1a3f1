"""nephoscope: which cloud machine should my database run on, what does it cost, and how sure are we?"""

__version__ = "0.1.0"
