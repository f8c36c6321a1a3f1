"""What disks read and write."""
