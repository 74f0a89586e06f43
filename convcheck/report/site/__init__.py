"""A site of static pages from the reports of any number of runtimes and releases."""
