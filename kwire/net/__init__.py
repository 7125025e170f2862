"""The rooms with sockets, thin over the sans-IO rooms: `connection` asks a broker, `proxy` stands before one;
`serving` lets `kwire.broker` answer, and `logdirs` keeps its records.
"""
