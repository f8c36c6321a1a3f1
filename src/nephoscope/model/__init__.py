"""The nouns that all stages share: errors, units, stored records, rows of tables."""
