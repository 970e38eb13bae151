SUMMARY = "Hub of edge messaging appliances, wire-compatible with NATS"
DESCRIPTION = "The same server in the datacentre, with leafnode listener, routes and gateways"

require frond.inc

SRC_URI += "file://frond-hub.service"
