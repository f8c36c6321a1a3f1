"""Each arrow of the flow as one function from files to files. The command line calls them, and so may a notebook."""
