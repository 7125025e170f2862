"""A served cluster on sockets and disks, and its control."""
