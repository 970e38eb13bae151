//! Connections that end for reasons of this end.

use super::*;

/// Nobody wants it any more: it is neither dialed nor said to be.
#[test]
fn a_remote_that_is_removed_does_not_say_that_it_tries_again() {
    let (mut link, mut up) = attached(remote(), Vec::new());
    up.logs.clear();
    link.dismissed();
    link.closed(at(9), "Client Closed", &mut up);
    assert!(up.logs.is_empty(), "{:?}", up.logs);
    assert_eq!((link.status().state, link.deadline()), ("disabled", None));
}

#[test]
fn a_server_that_ends_does_not_say_that_it_tries_again() {
    let (mut link, mut up) = attached(remote(), Vec::new());
    up.logs.clear();
    link.closed(at(9), "Server Shutdown", &mut up);
    assert!(up.logs.is_empty(), "{:?}", up.logs);
}

/// That is the hub's end, and an operator is told.
#[test]
fn a_hub_that_says_that_it_ends_is_told_of() {
    let (mut link, mut up) = attached(remote(), Vec::new());
    up.logs.clear();
    feed(&mut link, &mut up, at(9), "-ERR 'Server Shutdown'\r\n");
    link.closed(at(9), "Client Closed", &mut up);
    assert!(up.logs[0].contains("Server Shutdown"), "{:?}", up.logs);
    assert!(up.logs[1].contains("lost hub"), "{:?}", up.logs);
    assert_eq!(link.status().state, "waiting");
}

/// spec: nats-server v2.15.1 server/server.go `setClusterName`
#[test]
fn a_hub_hears_of_another_cluster_name_by_a_new_connection() {
    let (mut link, mut up) = attached(remote(), Vec::new());
    up.asked();
    link.cluster_renamed(at(9), &mut up);
    assert_eq!(up.asked(), ["close Cluster Name Conflict"]);
    assert_eq!(link.status().state, "waiting");
    let mut idle = Solicit::new(remote());
    idle.cluster_renamed(at(9), &mut up);
    assert_eq!(idle.status().state, "dialing");
}
