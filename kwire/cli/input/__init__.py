"""What commands read: files, folders, standard input; dumps, logs, znodes."""
