/// What a TLS handshake showed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TlsSession {
    /// `1.2` or `1.3`.
    pub version: String,
    /// As Go names it, `TLS_AES_128_GCM_SHA256`.
    pub cipher: String,
    /// Whether TLS came before the server's first word.
    pub first: bool,
    /// The first certificate of the peer, verified; `None` when none was asked for or given.
    pub peer: Option<PeerCert>,
}

/// A certificate whose signature and chain are verified.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PeerCert {
    /// The distinguished name, RFC 2253, as Go prints it.
    pub subject: String,
    /// The distinguished name part by part, first to last as in the certificate: what its users
    /// are compared with.
    pub dn: Vec<DnPart>,
    /// The common name, empty without one.
    pub common_name: String,
    /// E-mail addresses among its alternative names.
    pub emails: Vec<String>,
    /// DNS names among its alternative names.
    pub dns_names: Vec<String>,
    /// URIs among its alternative names.
    pub uris: Vec<String>,
    /// SHA-256 of its public key info (SPKI), 64 hex digits: what `pinned_certs` lists.
    pub subject_pk_sha256: String,
    /// SHA-256 of the whole, 64 hex digits.
    pub cert_sha256: String,
    /// The whole, DER.
    pub der: Vec<u8>,
}

/// One relative distinguished name: pairs of a type (`CN`, or digits and dots when it has no
/// short name) and a value.
pub type DnPart = Vec<(String, String)>;
