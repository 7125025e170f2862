"""Lakes: folders of tables that grow run by run, and the files of each run."""
