"""Statistics -> sentences, by named rules, with their evidence."""
