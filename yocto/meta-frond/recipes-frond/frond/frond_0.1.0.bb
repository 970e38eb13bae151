SUMMARY = "Edge messaging appliance, wire-compatible with NATS"
DESCRIPTION = "Local publish/subscribe and JetStream that go on while the line is down, and one leafnode connection to a hub"

require frond.inc

SRC_URI += "file://frond.service"

RRECOMMENDS:${PN} = "frond-conf"
