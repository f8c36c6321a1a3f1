"""What all clouds share: orders, clusters, first boot, SSH."""
