use data_encoding::{BASE32_NOPAD, BASE64URL_NOPAD};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use sha2::{Digest, Sha512_256};

use super::{Body, Claim, Claims, GenericClaims, JwtError};
use crate::limits::JWT_BYTES_MAX;
use crate::nkey::{KeyPair, Role, is_public_key, verify};

/// Reads a claim and verifies that its issuer signed it and may sign such claims. Says nothing
/// about times: see [`Claim::validate`].
///
/// # Errors
/// When `text` is no signed claim.
pub fn decode(text: &str) -> Result<Claims, JwtError> {
    if text.len() > JWT_BYTES_MAX {
        return Err(JwtError::TooLarge(text.len()));
    }
    let mut parts = text.split('.');
    let (Some(header), Some(payload), Some(signature), None) =
        (parts.next(), parts.next(), parts.next(), parts.next())
    else {
        return Err(JwtError::Chunks);
    };
    check_header(header)?;
    let claim = without_nulls(json(payload)?);
    let (version, claims) = load(claim)?;
    let signature = bytes(signature)?;
    let signed = if version <= 1 {
        payload
    } else {
        text.get(..header.len() + 1 + payload.len())
            .unwrap_or_default()
    };
    let head = claims.head();
    let Some(by) = signer(head.issuer, signed, &signature) else {
        return Err(JwtError::Signature(if version <= 1 { 1 } else { 2 }));
    };
    let (roles, text) = head.issuers;
    if !roles.is_empty() && !roles.contains(&by) {
        return Err(JwtError::Issuer(text));
    }
    Ok(claims)
}

/// Reads a claim as one of no particular kind; the header alone says what is signed.
///
/// # Errors
/// When `text` is no signed claim.
pub fn decode_generic(text: &str) -> Result<GenericClaims, JwtError> {
    if text.len() > JWT_BYTES_MAX {
        return Err(JwtError::TooLarge(text.len()));
    }
    let parts: Vec<&str> = text.split('.').collect();
    let [header, payload, signature] = parts.as_slice() else {
        return Err(JwtError::Chunks);
    };
    let old = check_header(header)? == Algorithm::Old;
    let claims: Box<GenericClaims> = plain(without_nulls(json(payload)?))?;
    let both = format!("{header}.{payload}");
    let signed = if old { payload } else { both.as_str() };
    match signer(&claims.issuer, signed, &bytes(signature)?) {
        Some(_) => Ok(*claims),
        None => Err(JwtError::Signature(if old { 1 } else { 2 })),
    }
}

/// What kind of key the issuer is, if it signed this.
fn signer(issuer: &str, signed: &str, signature: &[u8]) -> Option<Role> {
    let roles = [
        Role::Account,
        Role::Operator,
        Role::User,
        Role::Server,
        Role::Cluster,
    ];
    let by = roles
        .into_iter()
        .find(|role| is_public_key(*role, issuer))?;
    let signature = BASE64URL_NOPAD.encode(signature);
    verify(by, issuer, signed.as_bytes(), &signature).then_some(by)
}

/// The text of a claim, signed.
pub(super) fn encode<T: Body>(claim: &Claim<T>, key: &KeyPair) -> Result<String, JwtError> {
    if claim.subject.is_empty() {
        return Err(JwtError::NoSubject);
    }
    let issuer = key.public_key();
    if !T::ISSUERS.iter().any(|role| is_public_key(*role, &issuer)) {
        return Err(JwtError::Issuer(T::ISSUERS_TEXT));
    }
    let mut claim = claim.clone();
    claim.issuer = issuer;
    claim.id = id_of(&claim)?;
    claim.nats.stamp();
    let text = serde_json::to_string(&claim).map_err(broken)?;
    let header = BASE64URL_NOPAD.encode(HEADER.as_bytes());
    let signed = format!("{header}.{}", BASE64URL_NOPAD.encode(text.as_bytes()));
    let signature = BASE64URL_NOPAD.encode(&key.sign(signed.as_bytes()));
    Ok(format!("{signed}.{signature}"))
}

#[derive(Deserialize)]
struct Header {
    #[serde(default)]
    typ: String,
    #[serde(default)]
    alg: String,
}

/// Part of a claim that all kinds have.
struct Head<'a> {
    issuer: &'a str,
    issuers: (&'static [Role], &'static str),
}

impl Claims {
    fn head(&self) -> Head<'_> {
        match self {
            Self::Operator(claim) => Head::of(claim),
            Self::Account(claim) => Head::of(claim),
            Self::User(claim) => Head::of(claim),
            Self::Activation(claim) => Head::of(claim),
            Self::AuthRequest(claim) => Head::of(claim),
            Self::AuthResponse(claim) => Head::of(claim),
            Self::Generic(claim) => Head {
                issuer: &claim.issuer,
                issuers: (&[], ""),
            },
        }
    }
}

impl<'a> Head<'a> {
    fn of<T: Body>(claim: &'a Claim<T>) -> Self {
        Self {
            issuer: &claim.issuer,
            issuers: (T::ISSUERS, T::ISSUERS_TEXT),
        }
    }
}

/// What a header says is signed.
#[derive(PartialEq, Eq)]
enum Algorithm {
    /// The claim.
    Old,
    /// The header and the claim.
    Nkey,
}

fn check_header(part: &str) -> Result<Algorithm, JwtError> {
    let header: Header = serde_json::from_value(json(part)?).map_err(broken)?;
    if !header.typ.eq_ignore_ascii_case("JWT") {
        return Err(JwtError::Type(header.typ));
    }
    match header.alg.to_ascii_lowercase().as_str() {
        "ed25519" => Ok(Algorithm::Old),
        "ed25519-nkey" => Ok(Algorithm::Nkey),
        _ => Err(JwtError::Algorithm(header.alg)),
    }
}

/// The claim and its version; -1 for a kind nobody knows, as nats-io/jwt has it.
fn load(claim: Value) -> Result<(i64, Claims), JwtError> {
    let inner = |name: &str| claim.get("nats").and_then(|nats| nats.get(name));
    let outer = claim.get("type").and_then(Value::as_str);
    let version = match outer.filter(|kind| !kind.is_empty()) {
        Some(_) => 1,
        None => inner("version").and_then(Value::as_i64).unwrap_or(0),
    };
    if version > 2 {
        return Err(JwtError::Newer);
    }
    let kind = outer.filter(|kind| !kind.is_empty());
    let kind = kind.or_else(|| inner("type").and_then(Value::as_str));
    let claims = match kind.unwrap_or_default() {
        "operator" => Claims::Operator(versioned(claim, version)?),
        "account" => Claims::Account(versioned(claim, version)?),
        "user" => Claims::User(versioned(claim, version)?),
        "activation" => Claims::Activation(versioned(claim, version)?),
        "authorization_request" => Claims::AuthRequest(plain(claim)?),
        "authorization_response" => Claims::AuthResponse(plain(claim)?),
        "cluster" => return Err(JwtError::Unsupported("ClusterClaims")),
        "server" => return Err(JwtError::Unsupported("ServerClaims")),
        _ => return Ok((-1, Claims::Generic(plain(claim)?))),
    };
    Ok((version, claims))
}

fn versioned<T: Body>(claim: Value, version: i64) -> Result<Box<Claim<T>>, JwtError> {
    match version {
        1 => T::from_v1(claim).map(Box::new),
        2 => plain(claim),
        other => Err(JwtError::Version(other)),
    }
}

fn plain<T: DeserializeOwned>(claim: Value) -> Result<Box<T>, JwtError> {
    serde_json::from_value(claim).map(Box::new).map_err(broken)
}

fn json(part: &str) -> Result<Value, JwtError> {
    serde_json::from_slice(&bytes(part)?).map_err(broken)
}

fn bytes(part: &str) -> Result<Vec<u8>, JwtError> {
    BASE64URL_NOPAD
        .decode(part.as_bytes())
        .map_err(|_| JwtError::Base64)
}

/// A field that is null is one that isn't there.
fn without_nulls(value: Value) -> Value {
    match value {
        Value::Object(fields) => Value::Object(
            fields
                .into_iter()
                .filter(|(_, value)| !value.is_null())
                .map(|(name, value)| (name, without_nulls(value)))
                .collect(),
        ),
        Value::Array(items) => Value::Array(items.into_iter().map(without_nulls).collect()),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value,
    }
}

/// A name for the token: the hash of everything outside `nats`.
fn id_of<T: Body>(claim: &Claim<T>) -> Result<String, JwtError> {
    let mut bare = serde_json::to_value(claim).map_err(broken)?;
    if let Some(fields) = bare.as_object_mut() {
        fields.remove("nats");
        fields.remove("jti");
    }
    let hash = Sha512_256::digest(bare.to_string().as_bytes());
    Ok(BASE32_NOPAD.encode(hash.as_slice()))
}

#[expect(clippy::needless_pass_by_value, reason = "the shape map_err takes")]
pub(super) fn broken(error: serde_json::Error) -> JwtError {
    JwtError::Json(error.to_string())
}

const HEADER: &str = r#"{"typ":"JWT","alg":"ed25519-nkey"}"#;
