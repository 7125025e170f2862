"""Consumer groups and other groups of the classic protocol: members, leaders, assignments, committed offsets.

`group` holds the state of one group, `rebalance` changes it, `coordinator` holds all groups; the handlers are in
`kwire.broker.apis`. Assignments are passed on unread: members compute them (`kwire.cluster.assignors`).
"""
