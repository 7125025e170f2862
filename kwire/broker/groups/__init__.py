"""Groups of the classic protocol, such as consumer groups: members, leaders, assignments, committed offsets.

`group` has the state of one group, `rebalance` its transitions, `coordinator` all groups; the handlers are in
`kwire.broker.apis`. Assignments are not parsed: members compute them (`kwire.cluster.assignors`).
"""
