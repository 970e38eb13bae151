use frond_ota::{Record, Sealed};

/// A bundle and a box's record: what is read is written the same way, and nothing of a bundle is
/// believed by reading it.
pub fn ota(data: &[u8]) {
    if let Ok(sealed) = Sealed::decode(data) {
        assert!(sealed.encode() == data, "a bundle is written as it is read");
        if let Some(content) = sealed.content() {
            let again = Sealed::new(&content, Vec::new());
            assert!(again.content().is_some(), "what is said can be said again");
        }
    }
    if let Some(record) = Record::decode(data) {
        let again = Record::decode(&record.encode());
        assert!(again.is_some_and(|again| again == record));
    }
}
