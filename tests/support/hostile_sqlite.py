"""SQLite files that are programs."""

ENDLESS = "create view NAME as with recursive n (i) as (select 1 union all select i + 1 from n) select i from n"
"""It has rows without end."""
