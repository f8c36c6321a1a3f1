"""Study file -> frozen Study, with errors that name the line."""
