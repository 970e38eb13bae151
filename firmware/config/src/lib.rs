//! The nats.conf language to typed options, with line and column in errors, and the difference
//! between two of them.
//!
//! [`load`] does all of it: [`parse_file`] reads the language into a [`Map`], the modules of
//! `options` turn it into a [`Config`], [`Config::check`] does what a start checks across options.
//! The crate doesn't know files, the environment or sockets: a [`Source`] hands it text, and it
//! decides nothing about what an option does.

mod apart;
mod change;
mod check;
mod config;
mod duration;
mod error;
mod json;
mod lexer;
mod limits;
mod nkey;
mod options;
mod outside;
mod parser;
mod places;
mod position;
mod report;
mod secret;
mod source;
mod unsupported;
mod value;

pub use change::{
    Change, Changes, ClusterChange, ReloadRefused, Reloadable, RemoteChange, changes,
};
pub use check::Abilities;
pub use config::{Config, Loaded, load, load_text};
pub use error::{ConfigError, ConfigErrors};
pub use options::accounts::{Account, AccountJetStream, AccountLimits};
pub use options::appliance::{
    AdcOptions, Appliance, Button, Condition, Conditioning, I2cPlace, Input, LampPlace, LinkLoss,
    Modbus, ModbusLine, Number, Output, ParityBit, Port, Pull, Register, RegisterKind,
    RegisterTable, Sensor, SensorDriver, SerialDevice, SerialKind, Watchdog,
};
pub use options::auth::{Authorization, ConnectionType, Identity, User};
pub use options::callout::AuthCallout;
pub use options::cluster::{Cluster, RoutePermissions};
pub use options::compression::Compression;
pub use options::exports::{Export, ExportKind, Latency, Response, ServiceExport};
pub use options::features::FeatureFlags;
pub use options::fleet::Fleet;
pub use options::forward::{Budget, Forward, ForwardTo, OnFull, Order, Period};
pub use options::gateway::{Gateway, RemoteGateway};
pub use options::imports::{Import, ImportKind};
pub use options::jetstream::{JetStream, JetStreamLimits, Sync};
pub use options::jetstream_encryption::{JetStreamEncryption, StoreCipher};
pub use options::leafnodes::{LeafAuthorization, LeafNodes, LeafUser};
pub use options::logging::Log;
pub use options::mappings::{Destination, Mapping};
pub use options::msg_trace::MsgTrace;
pub use options::ocsp::{Ocsp, OcspCache, OcspMode, OcspPeer};
pub use options::operator::{Deletion, OperatorMode, Resolver};
pub use options::ota::{Ota, OtaKeys, OtaLogin, OtaSource, OtaTrust, OtaWeb};
pub use options::peers::PeerAuthorization;
pub use options::permissions::{AllowResponses, Permissions, SubjectRule, SubjectRules};
pub use options::proxies::Proxies;
pub use options::remote::{Migrate, Remote};
pub use options::remote_proxy::RemoteProxy;
pub use options::server::{Limits, Listen, WriteTimeout};
pub use options::tls::{CertFiles, HandshakeFirst, Tls};
pub use options::url::RemoteUrl;
pub use options::websocket::{WebSocket, WebSocketAuthorization, WebSocketCookies};
pub use parser::{parse, parse_file};
pub use position::Position;
pub use secret::Secret;
pub use source::{Nothing, Source};
pub use value::{Entry, Kind, Map, Value};
