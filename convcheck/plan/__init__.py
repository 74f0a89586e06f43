"""What a run asks, in which units of work, and how their results become one."""
