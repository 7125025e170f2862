"""Consumer groups, and all others of the classic protocol: who is in, who leads, what is assigned, what is committed.

`group` is the state of one, `rebalancing` what moves it on, `coordinator` all of them. The other rooms are handlers.
The members decide who gets what (`kwire.cluster.assignors`); here their bytes are handed on unread.
"""
