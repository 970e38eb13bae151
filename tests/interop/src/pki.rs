//! Certificates for one test: an authority, and what it signs.

use std::path::{Path, PathBuf};

use frond_ocsp::der;
use rcgen::{
    BasicConstraints, CertificateParams, CustomExtension, DnType, ExtendedKeyUsagePurpose, IsCa,
    Issuer, KeyPair, SanType, SerialNumber,
};
use tempfile::TempDir;

/// An authority in a folder of its own, which goes with it.
#[derive(Debug)]
pub struct Pki {
    dir: TempDir,
    issuer: Issuer<'static, KeyPair>,
    /// The authority's key, PEM.
    key: String,
}

impl Pki {
    /// A new authority, its certificate in `ca.pem`.
    ///
    /// # Panics
    /// When the system gives no folder or no randomness.
    #[must_use]
    pub fn new(name: &str) -> Self {
        let dir = tempfile::Builder::new()
            .prefix("frond-pki-")
            .tempdir()
            .expect("a temporary folder");
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().expect("randomness");
        let ca = params.self_signed(&key).expect("an authority");
        std::fs::write(dir.path().join("ca.pem"), ca.pem()).expect("own folder");
        Self {
            dir,
            key: key.serialize_pem(),
            issuer: Issuer::new(params, key),
        }
    }

    /// The path of a file of it.
    #[must_use]
    pub fn file(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// `cert_file: …, key_file: …, ca_file: …` for a certificate made before.
    #[must_use]
    pub fn block(&self, name: &str) -> String {
        let path = |file: String| self.file(&file).display().to_string();
        format!(
            "cert_file: {:?}, key_file: {:?}, ca_file: {:?}",
            path(format!("{name}.pem")),
            path(format!("{name}.key")),
            path("ca.pem".to_owned())
        )
    }

    /// A server's certificate for `localhost` and 127.0.0.1, in `<name>.pem` and `<name>.key`.
    pub fn server(&self, name: &str) {
        self.server_from(name, (2025, 1, 1));
    }

    /// The same, good from this year, month and day on.
    pub fn server_from(&self, name: &str, (year, month, day): (i32, u8, u8)) {
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, name);
        params.not_before = rcgen::date_time_ymd(year, month, day);
        params.subject_alt_names = vec![
            SanType::DnsName("localhost".try_into().expect("a name")),
            SanType::IpAddress([127, 0, 0, 1].into()),
        ];
        params.extended_key_usages = vec![
            ExtendedKeyUsagePurpose::ServerAuth,
            ExtendedKeyUsagePurpose::ClientAuth,
        ];
        self.sign(name, &params);
    }

    /// The same, with a number, and where to ask whether it is still good; with `must_staple` it is
    /// only good with an answer to that.
    ///
    /// # Panics
    /// When the name is no name.
    pub fn asked(&self, name: &str, number: u8, responder: &str, must_staple: bool) {
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, name);
        params.serial_number = Some(SerialNumber::from(vec![number]));
        params.subject_alt_names = vec![
            SanType::DnsName("localhost".try_into().expect("a name")),
            SanType::IpAddress([127, 0, 0, 1].into()),
        ];
        params.extended_key_usages = vec![
            ExtendedKeyUsagePurpose::ServerAuth,
            ExtendedKeyUsagePurpose::ClientAuth,
        ];
        // authorityInfoAccess: id-ad-ocsp at that URL
        let access = sequence(&[
            &[6, 8, 0x2b, 6, 1, 5, 5, 7, 0x30, 1],
            &value(0x86, responder.as_bytes()),
        ]);
        let access =
            CustomExtension::from_oid_content(&[1, 3, 6, 1, 5, 5, 7, 1, 1], sequence(&[&access]));
        params.custom_extensions.push(access);
        if must_staple {
            let feature = vec![0x30, 3, 2, 1, 5];
            let feature = CustomExtension::from_oid_content(&[1, 3, 6, 1, 5, 5, 7, 1, 24], feature);
            params.custom_extensions.push(feature);
        }
        self.sign(name, &params);
    }

    /// The authority's key.
    ///
    /// # Panics
    /// Never: it is its own.
    #[must_use]
    pub(crate) fn authority_key(&self) -> KeyPair {
        KeyPair::from_pem(&self.key).expect("own key")
    }

    /// A client's certificate with these parts of a distinguished name and alternative names.
    pub fn client(&self, name: &str, parts: &[(DnType, &str)], names: Vec<SanType>) {
        let mut params = CertificateParams::default();
        params.distinguished_name = rcgen::DistinguishedName::new();
        for (kind, value) in parts {
            params.distinguished_name.push(kind.clone(), *value);
        }
        params.subject_alt_names = names;
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        self.sign(name, &params);
    }

    /// Puts the files of another authority's certificate in place of its own.
    ///
    /// # Panics
    /// When a file cannot be copied.
    pub fn take(&self, other: &Self, from: &str, to: &str) {
        for kind in ["pem", "key"] {
            let from = other.file(&format!("{from}.{kind}"));
            std::fs::copy(from, self.file(&format!("{to}.{kind}"))).expect("own folder");
        }
    }

    fn sign(&self, name: &str, params: &CertificateParams) {
        let key = KeyPair::generate().expect("randomness");
        let cert = params.signed_by(&key, &self.issuer).expect("a certificate");
        write(&self.file(&format!("{name}.pem")), &cert.pem());
        write(&self.file(&format!("{name}.key")), &key.serialize_pem());
    }
}

fn value(tag: u8, bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    der::put(&mut out, tag, bytes);
    out
}

fn sequence(parts: &[&[u8]]) -> Vec<u8> {
    value(der::SEQUENCE, &parts.concat())
}

fn write(path: &Path, text: &str) {
    std::fs::write(path, text).expect("own folder");
}
