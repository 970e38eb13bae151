//! What this crate bounds, and where the bound is of everything else that peers can make grow.
//!
//! | what grows | bound | past it |
//! |---|---|---|
//! | connections | `broker` `connections_max` | refused with the protocol's error |
//! | connections not yet known | [`STRANGERS_MAX`], and half of the open files | the oldest goes |
//! | TLS before the first word; WebSocket requests | [`UPGRADES_MAX`] each | the oldest goes |
//! | closed connections that are said goodbye | [`PARTING_MAX`], [`CLOSE_WAIT`] | the oldest is cut |
//! | HTTP connections | [`HTTP_CONNECTIONS_MAX`] | the idlest goes |
//! | what all connections hold together | `max_connections_memory`, but for an eighth | nobody new; the heaviest goes |
//! | what peers hold before they are connections | an eighth of `max_connections_memory` | the oldest goes |
//! | accepts in one turn, TLS handshake steps at a time | [`ACCEPTS_PER_TURN`], [`HANDSHAKE_STEPS_AT_ONCE`] | they wait |
//! | handshakes that wait for responders, and what those answer | [`OCSP_HANDSHAKES_AT_ONCE`], [`OCSP_ANSWER_BYTES_MAX`], [`OCSP_CACHED_MAX`] | they wait; refused; the oldest goes |
//! | responders that are late | [`OCSP_RESPONDERS_MAX`] | asked each time |
//! | accepts while strangers push each other out | [`CROWDED_ACCEPTS`] in [`CROWDED_SPAN`] | they wait |
//! | reads of WebSocket requests in one turn | [`UPGRADE_STEPS_PER_TURN`] | they wait |
//! | bytes read, operations, deliveries for one connection in one turn | [`READ_BYTES`], `broker` `limits.rs` | others first |
//! | bytes of an unfinished operation | `control_line_bytes_max`, `payload_bytes_max` of each peer | closed |
//! | bytes for one reader, for all readers | `outbox_bytes_max`, `outboxes_bytes_max` | slow consumer |
//! | subscriptions | `subscriptions_max` of each client, when configured, and the memory | refused |
//! | account lookups, and who waits for them | `node` `limits.rs` | refused |
//! | documents for HTTP peers who read slowly | [`HTTP_BODIES_BYTES_MAX`] | 503 |
//! | remembered matches, tracked replies, owed answers | `broker` `limits.rs` | forgotten, or refused |
//! | questions to an authorization service, `$SYS` answers | `node` `limits.rs` | refused |
//! | account JWTs | `node` `SHELF_BYTES_MAX`, [`JWT_BYTES_MAX`] | refused |
//! | bytes for the disk | [`DISK_BACKLOG_BYTES_MAX`] | peers are not read |
//! | those of them that wait for space | [`WAITING_BYTES_MAX`] | refused |
//! | streams, consumers, pending requests | `jetstream` `limits.rs` | refused |

use std::time::Duration;

/// Bytes the server may say to the steward's own client without a break.
pub(crate) const OWN_LINE_BYTES_MAX: usize = 8 * 1024 * 1024;
/// Between two attempts of the steward's own client.
pub(crate) const OWN_LINE_PAUSE: Duration = Duration::from_secs(1);
/// Bytes of a question at the control socket: a bundle in base64, and some words.
pub(crate) const CONTROL_LINE_BYTES_MAX: usize = 1024 * 1024;
/// How often it is looked how the server is, when somebody wants to know.
pub(crate) const LOOK_EVERY: Duration = Duration::from_millis(500);
/// Bytes read from a socket at once.
pub(crate) const READ_BYTES: usize = 64 * 1024;
/// Operations up to this size are put together in the buffer of all connections.
pub(crate) const SHARED_BYTES_MAX: usize = 32 * 1024;
/// The buffer kept for the next large message.
pub(crate) const SPARE_BYTES_MAX: usize = 2 * 1024 * 1024;
/// Bytes that the system holds unsent for a leafnode's line: over a slow one what is written next
/// must be there before the other end gives up.
pub(crate) const LEAF_UNSENT_BYTES_MAX: u32 = 64 * 1024;
/// Slices handed to one vectored write.
pub(crate) const WRITE_SLICES_MAX: usize = 64;
/// What one write deadline is for at most.
///
/// spec: nats-server v2.15.1 server/client.go `nbMaxVectorSize`
pub(crate) const TIMED_WRITE_BYTES_MAX: usize = 64 * 1024 * 1024;
/// Unwritten journal bytes at which clients are no longer read, until half of it is written.
pub(crate) const DISK_BACKLOG_BYTES_MAX: usize = 8 * 1024 * 1024;
/// Batch bytes taken into one sync.
pub(crate) const SYNC_BYTES_MAX: usize = 2 * 1024 * 1024;
/// How long a sync waits for others who want one too, at most: half of what the last one took if
/// that is less.
pub(crate) const COMPANY_WAIT_MAX: Duration = Duration::from_millis(1);
/// Batch bytes that nobody waits for and that are kept while a full disk has no space for them:
/// far below the backlog at which peers are no longer read.
pub(crate) const WAITING_BYTES_MAX: usize = 1024 * 1024;
/// How long a record nobody waits for may ride before it is synced by itself.
pub(crate) const SOON_WAIT: Duration = Duration::from_millis(1000);
/// How long the journal waits to be folded into the block store when it is not half full before;
/// free space is looked at as often.
pub(crate) const FOLD_EVERY: Duration = Duration::from_secs(3);

/// From a start to its first fold, which shows that the block store works.
pub(crate) const FIRST_FOLD_AFTER: Duration = Duration::from_millis(50);
/// The largest journal that is made, whatever `max_payload` is.
pub(crate) const JOURNAL_BYTES_MAX: u64 = 1 << 30;
/// How long after the start its code is given back.
pub(crate) const SETTLED_AFTER: Duration = Duration::from_secs(1);
/// Stack of a disk thread.
pub(crate) const THREAD_STACK_BYTES: usize = 512 * 1024;
/// Stack of the threads that open a data directory while the server runs, and close one: they do
/// what else the main one does.
pub(crate) const OPENING_STACK_BYTES: usize = 4 * 1024 * 1024;
/// How long a closing connection may take to accept its last bytes.
pub(crate) const CLOSE_WAIT: Duration = Duration::from_secs(2);
/// Bytes still read from a peer after we said goodbye.
pub(crate) const FAREWELL_READ_BYTES_MAX: usize = 16 * 1024 * 1024;
/// How many of those are read at once.
pub(crate) const FAREWELL_BUFFER_BYTES: usize = 4096;
/// WebSocket peers that have not finished their request, and others that begin with TLS and have
/// not finished that; of more the oldest is let go. Each of the two.
pub(crate) const UPGRADES_MAX: usize = 1024;
/// Connections accepted by each listener in one turn of the loop, so that what those say who are
/// in is served first.
pub(crate) const ACCEPTS_PER_TURN: usize = 1;
/// Connections accepted by a listener in [`CROWDED_SPAN`] while each would only push out another
/// that has not said who it is: those wait longer for their words, the flood waits in the kernel,
/// and those who are in wait for neither.
pub(crate) const CROWDED_ACCEPTS: u32 = 4;
/// The span these are counted in: as short as the runtime's timer.
pub(crate) const CROWDED_SPAN: Duration = Duration::from_millis(1);
/// Reads for WebSocket requests that are not whole yet in one turn of the loop.
pub(crate) const UPGRADE_STEPS_PER_TURN: usize = 1;
/// Steps of TLS handshakes at a time, on a thread beside the one that carries messages.
pub(crate) const HANDSHAKE_STEPS_AT_ONCE: usize = 1;
/// Handshakes at a time that may wait for what a responder says of the peer, each on a thread.
/// As many as come at once when the power is back: those with nobody to ask are among them.
pub(crate) const OCSP_HANDSHAKES_AT_ONCE: usize = 128;
/// Peers in a row that wait for a responder in vain, before no other one does.
pub(crate) const OCSP_LATE_MAX: u32 = 8;
/// How long that one is not asked then.
pub(crate) const OCSP_DOWN_TIME: Duration = Duration::from_secs(5);
/// Responders that are known to be late; more are asked each time.
pub(crate) const OCSP_RESPONDERS_MAX: usize = 256;
/// News of peers' certificates that the core has not heard yet; more is lost.
pub(crate) const OCSP_NEWS_MAX: usize = 256;
/// Bytes of what a responder answers, and of the head before it.
pub(crate) const OCSP_ANSWER_BYTES_MAX: usize = 64 * 1024;
/// Bytes of the head of that answer.
pub(crate) const OCSP_HEAD_BYTES_MAX: usize = 16 * 1024;
/// Answers about peers that are kept; of more the oldest goes.
pub(crate) const OCSP_CACHED_MAX: usize = 4096;
/// How long a responder may take for our own certificate.
pub(crate) const OCSP_STAPLE_TIMEOUT: Duration = Duration::from_secs(30);
/// How often our own certificate is asked about when an answer does not say how long it is good.
pub(crate) const OCSP_CHECK_EVERY: Duration = Duration::from_secs(24 * 3600);
/// How soon it is asked about again when the answer is out of date.
pub(crate) const OCSP_CHECK_PAUSE_MIN: Duration = Duration::from_secs(120);
/// Certificates on the way from a peer's up to a root.
pub(crate) const CERT_CHAIN_MAX: usize = 8;
/// Threads for what takes long: a name, a password, a file.
pub(crate) const SIDE_THREADS_MAX: usize = 3;
/// How much less of a busy processor they get than messages do, as `nice` counts.
pub(crate) const SIDE_THREADS_NICE: i32 = 5;
/// What a TLS handshake costs while it lasts, about.
pub(crate) const HANDSHAKE_BYTES: usize = 8 * 1024;
/// What a peer on its way in costs besides, about.
pub(crate) const LOBBY_BYTES: usize = 4 * 1024;
/// Connections that have not said who they are, TLS handshakes after the greeting included; half
/// of the files this process may open is for others, whatever this says.
pub(crate) const STRANGERS_MAX: usize = 4096;
/// Closed connections whose peer is given time for the last words; of more the oldest is cut.
pub(crate) const PARTING_MAX: usize = 256;
/// Strangers that go when the system refuses to accept a connection.
pub(crate) const SHED_AT_ONCE: usize = 16;
/// That it refuses is told this often.
pub(crate) const REFUSED_TOLD_EVERY: Duration = Duration::from_secs(60);
/// Bytes of an HTTP request head. Proxies that sign people in send cookies of many KiB;
/// nats-server takes 1 MiB.
pub(crate) const HTTP_HEAD_BYTES_MAX: usize = 64 * 1024;
/// Header lines of an HTTP request.
pub(crate) const HTTP_HEADERS_MAX: usize = 100;
/// How long a proxy may take to say for whom it speaks.
///
/// spec: nats-server v2.15.1 server/client_proxyproto.go `proxyProtoReadTimeout`
pub(crate) const PROXY_HEADER_WAIT: Duration = Duration::from_secs(5);
/// How long an HTTP peer may take to say a request.
///
/// spec: nats-server v2.15.1 server/server.go `startMonitoring`
pub(crate) const HTTP_HEAD_WAIT: Duration = Duration::from_secs(5);
/// How long an HTTP peer may take nothing of its answer.
pub(crate) const HTTP_WRITE_WAIT: Duration = Duration::from_secs(10);
/// How long an HTTP peer may wait between an answer and its next request.
pub(crate) const HTTP_IDLE_WAIT: Duration = Duration::from_secs(300);
/// How long nobody from an address is looked at after a wrong login from there.
pub(crate) const HTTP_REFUSAL_PAUSE: Duration = Duration::from_secs(1);
/// Addresses that this is remembered of; more are looked at all the same.
pub(crate) const HTTP_REFUSED_MAX: usize = 1024;
/// How long a right login is remembered, so that a page that renews itself costs no password.
pub(crate) const HTTP_KNOWN_FOR: Duration = Duration::from_secs(300);
/// Logins remembered.
pub(crate) const HTTP_KNOWN_MAX: usize = 16;
/// HTTP connections at once; one more, and the idlest of them goes.
pub(crate) const HTTP_CONNECTIONS_MAX: usize = 64;
/// Documents that HTTP peers have yet to read, together; a larger one is still served to one.
pub(crate) const HTTP_BODIES_BYTES_MAX: usize = 32 * 1024 * 1024;
/// First pause after the system refused to accept a connection (no file descriptors left); it
/// doubles.
pub(crate) const ACCEPT_PAUSE_MIN: Duration = Duration::from_millis(25);
/// Longest pause.
pub(crate) const ACCEPT_PAUSE_MAX: Duration = Duration::from_millis(500);
/// How long a producer waits when a receiver can hardly follow.
///
/// spec: nats-server v2.15.1 server/client.go `stallClientMinDuration`
pub(crate) const STALL_WAIT: Duration = Duration::from_millis(2);
/// Plain bytes of one TLS record.
pub(crate) const TLS_RECORD_BYTES_MAX: usize = 16 * 1024;
/// What a TLS record may add to them: header, nonce, tag, and padding we never send.
pub(crate) const TLS_RECORD_OVERHEAD_BYTES_MAX: usize = 64;
/// How far after a time that is certainly past the real one may be while the system's is not to
/// be believed: a certificate that begins later is refused.
pub(crate) const CERT_TOLERANCE: Duration = Duration::from_secs(400 * 24 * 3600);
/// Files of certificates are looked at this often; a change is used at the second look that shows
/// it, within 10 s.
pub(crate) const CERT_CHECK_EVERY: Duration = Duration::from_secs(3);
/// Whether time is believed is looked at this often.
pub(crate) const TRUST_CHECK_EVERY: Duration = Duration::from_secs(1);
/// The time is kept this often, for a start without a clock.
pub(crate) const KEEP_TIME_EVERY: Duration = Duration::from_secs(3600);
/// 2026-01-01: no clock is right that shows an earlier time than the making of this program.
pub const RELEASED_SECONDS: i64 = 1_767_225_600;
/// Bytes of an account JWT that is read from a file or a URL.
///
/// spec: nats-io/jwt v2 `MaxTokenSize`
pub(crate) const JWT_BYTES_MAX: u64 = 1 << 20;

/// What is carried at a time between a link and its HTTPS proxy.
pub(crate) const RELAY_BYTES: usize = 16 * 1024;

/// How long a proxy may take nothing of what a link says before the tunnel is given up: pings
/// and their answers are said more often.
pub(crate) const RELAY_STALL: Duration = Duration::from_secs(60);

/// Of the answer of an HTTP proxy, before the tunnel begins.
pub(crate) const PROXY_HEAD_BYTES_MAX: usize = 64 * 1024;

/// Bytes that one compressed WebSocket message of another server becomes: as many as it likes, for
/// nats-server makes one of all that waits, however many messages that are. They are looked at while they come, and
/// each must keep to `max_payload`.
pub(crate) const LINK_INFLATED_BYTES_MAX: u64 = u64::MAX;
