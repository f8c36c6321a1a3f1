"""Study -> Plan; pure: equal input, equal bytes."""
