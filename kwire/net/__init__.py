"""The rooms with sockets, thin over the sans-IO rooms: `connection` asks a broker, `proxy` stands before one."""
