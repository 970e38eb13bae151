//! How much of everything there may be.

/// Payload of a control frame. spec: RFC 6455 5.5.
pub const CONTROL_BYTES_MAX: usize = 125;

/// Head of a frame: two bytes, eight of length, four of mask.
pub const FRAME_HEAD_BYTES_MAX: usize = 14;

/// Payload of one frame to a browser.
/// spec: nats-server v2.15.1 server/websocket.go `wsFrameSizeForBrowsers`.
pub const BROWSER_FRAME_BYTES_MAX: usize = 4096;

/// What waits together and is no longer than this isn't compressed.
/// spec: nats-server v2.15.1 server/websocket.go `wsCompressThreshold`.
pub const PLAIN_BYTES_MAX: usize = 64;

/// Bytes of the stream that become one copied frame, when they can't be written from where
/// they are: compressed, masked, or cut small for a browser.
pub const STAGED_BYTES_MAX: usize = 64 * 1024;

/// Compressed bytes of one message, as a multiple of the longest NATS payload.
/// spec: nats-server v2.15.1 server/websocket.go `wsMaxMsgPayloadMultiple`.
pub const COMPRESSED_PER_PAYLOAD_MAX: u64 = 8;

/// Compressed bytes of one message, whatever the longest NATS payload is.
/// spec: nats-server v2.15.1 server/websocket.go `wsMaxMsgPayloadLimit`.
pub const COMPRESSED_BYTES_MAX: u64 = 64 * 1024 * 1024;

/// The room for inflated bytes that a caller brings should be this large.
pub const INFLATE_ROOM_BYTES: usize = 32 * 1024;

/// Answers to pings that wait to be written; further pings are answered by the latest one only.
/// spec: RFC 6455 5.5.3 allows it.
pub const CONTROLS_WAITING_BYTES_MAX: usize = 1024;

/// The request line and headers of an upgrade. Proxies that sign people in send cookies of many
/// KiB; nats-server takes 1 MiB.
pub const HEAD_BYTES_MAX: usize = 64 * 1024;

/// Headers of an upgrade.
pub const HEADERS_MAX: usize = 100;

/// Compressed messages that may be half received at a time, over all connections: each holds a
/// window of 32 KiB.
pub const INFLATIONS_MAX: usize = 1024;

/// What one of them holds, about: the window and the tables.
pub(crate) const INFLATION_BYTES: usize = 44 * 1024;
