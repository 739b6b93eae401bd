"""consumer: groups whose assignment the broker decides, as Kafka's coordinator serves them (KIP-848).

heartbeats         the request by which members do everything
classic_members    the classic protocol's requests, for members that still speak it
  changes          the steps that these decisions are made of
    target         who is to have what: asks an assignor
    reconciliation how a member gets there, without two ever having one partition
    patterns       topics by regular expression
  migration        from the classic protocol to this one and back
    embedded       what consumers of the classic protocol put into its bytes
group  member      what is stored
records            as what
timers             what is due when
description        what administrators are told
"""
