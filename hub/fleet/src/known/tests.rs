use frond_account::nkey::{KeyPair, Role};
use frond_ota::report;

use super::*;

fn codes(boxes: &Boxes, now_s: i64) -> Vec<&'static str> {
    let known = boxes.get("till-7").unwrap();
    let alarms = boxes.alarms(known, now_s);
    alarms.iter().map(|alarm| alarm.code).collect()
}

#[test]
fn a_box_that_starts_again_is_no_copy_and_two_that_take_turns_are() {
    let mut boxes = Boxes::new(300);
    let say = |boxes: &mut Boxes, at, instance: &str| {
        let said = format!("{{\"state\":\"idle\",\"instance\":\"{instance}\"}}");
        boxes.take("till-7", at, said.as_bytes());
    };
    for (at, instance) in [(1, "a"), (2, "a"), (3, "b"), (4, "c")] {
        say(&mut boxes, at, instance);
        assert_eq!(codes(&boxes, at), [""; 0]);
    }
    say(&mut boxes, 5, "b");
    assert_eq!(codes(&boxes, 5), ["cloned"]);
    // Only one of them is left.
    for at in 6..10 {
        say(&mut boxes, at * 100, "b");
    }
    assert_eq!(codes(&boxes, 900), [""; 0]);
}

#[test]
fn an_attempt_is_signed_once_and_again_while_the_box_goes_on_asking() {
    let mut boxes = Boxes::new(300);
    let mut signed = |at, nonce: &str| {
        let said = format!("{{\"trial\":{{\"digest\":\"d\",\"nonce\":\"{nonce}\"}}}}");
        boxes.take("till-7", at, said.as_bytes());
        boxes.attempt("till-7").map(|it| it.nonce)
    };
    assert_eq!(signed(10, "a").as_deref(), Some("a"));
    assert_eq!(signed(11, "a"), None);
    assert_eq!(signed(12, "b").as_deref(), Some("b"));
    assert_eq!(signed(12 + SIGN_AGAIN_SECONDS, "b").as_deref(), Some("b"));
    boxes.take("till-7", 99, b"{\"state\":\"idle\"}");
    assert_eq!(boxes.attempt("till-7"), None);
    assert_eq!(boxes.attempt("till-8"), None);
}

#[test]
fn who_says_nothing_is_silent_and_junk_is_nothing() {
    let mut boxes = Boxes::new(300);
    boxes.take("till-7", 1000, b"{\"state\":\"idle\",\"news\":1}");
    boxes.take("till-7", 5000, b"junk");
    assert_eq!(codes(&boxes, 1300), [""; 0]);
    assert_eq!(codes(&boxes, 1301), ["silent"]);
    boxes.forget("till-7");
    assert!(boxes.is_empty());
}

/// What a box with a key says at one of its starts.
struct Signer {
    pair: KeyPair,
    start: u64,
    round: u64,
}

impl Signer {
    fn new(seed: u8, start: u64) -> Self {
        let pair = KeyPair::from_random(Role::User, &[seed; 32]);
        Self {
            pair,
            start,
            round: 0,
        }
    }

    fn key(&self) -> String {
        self.pair.public_key()
    }

    fn says(&mut self, name: &str) -> Vec<u8> {
        self.round += 1;
        let (key, start, round) = (self.key(), self.start, self.round);
        let object = serde_json::json!({
            "state": "idle", "identity": key, "start": start, "round": round,
            "instance": start.to_string(),
        });
        report::sign(name, &object.to_string(), &self.pair).into_bytes()
    }
}

#[test]
fn nobody_else_speaks_for_a_box_that_signs() {
    let mut boxes = Boxes::new(300);
    let mut own = Signer::new(1, 100);
    assert_eq!(boxes.trust("till-7"), Trust::Unsigned);
    assert!(boxes.take("till-7", 1, b"{\"state\":\"old\"}"));
    assert!(boxes.take("till-7", 2, &own.says("till-7")));
    assert_eq!(boxes.trust("till-7"), Trust::Signed);
    assert_eq!(codes(&boxes, 2), [""; 0]);
    // Without a signature, with another one, with one for another name, and changed.
    let forged = b"{\"state\":\"idle\",\"active\":{\"version\":9}}";
    assert!(!boxes.take("till-7", 1000, forged));
    assert!(!boxes.take("till-7", 1000, &Signer::new(2, 900).says("till-7")));
    assert!(!boxes.take("till-7", 1000, &own.says("till-8")));
    let changed = String::from_utf8(own.says("till-7")).unwrap();
    assert!(!boxes.take("till-7", 1000, changed.replace("idle", "dead").as_bytes()));
    assert_eq!(boxes.get("till-7").unwrap().seen_s, 2);
    assert_eq!(codes(&boxes, 1000), ["silent", "stranger"]);
    // Nor does anybody else take it off the list.
    boxes.forget("till-7");
    assert_eq!(boxes.get("till-7").unwrap().status.state, "idle");
    boxes.take_pin("till-7", b"");
    assert!(boxes.is_empty() && boxes.trust("till-7") == Trust::Unsigned);
}

#[test]
fn what_was_said_before_is_not_said_again() {
    let mut boxes = Boxes::new(300);
    let mut first = Signer::new(1, 100);
    let former = first.says("till-7");
    assert!(boxes.take("till-7", 1, &former));
    assert!(!boxes.take("till-7", 2, &former));
    let mut second = Signer::new(1, 200);
    assert!(boxes.take("till-7", 3, &second.says("till-7")));
    assert!(!boxes.take("till-7", 4, &former));
    assert_eq!(codes(&boxes, 4), [""; 0]);
    assert_eq!(boxes.get("till-7").unwrap().seen_s, 3);
    // One that has more to say than was ever heard is a copy.
    assert!(!boxes.take("till-7", 5, &first.says("till-7")));
    assert_eq!(codes(&boxes, 5), ["cloned"]);
    // A hub that starts anew knows from which start on it believes the box.
    let (_, kept) = boxes.pin_to_put("till-7", 6).unwrap();
    let mut next = Boxes::new(300);
    next.take_pin("till-7", &kept);
    assert!(!next.take("till-7", 7, &first.says("till-7")));
    assert!(next.take("till-7", 8, &second.says("till-7")));
}

#[test]
fn a_claim_says_whose_word_counts_whenever_it_comes() {
    let mut boxes = Boxes::new(300);
    let (mut own, mut other) = (Signer::new(1, 100), Signer::new(2, 100));
    // Somebody spoke first; the box was claimed all the same.
    assert!(boxes.take("till-7", 1, &other.says("till-7")));
    let pin = |identity: String, is_claimed| Pin {
        identity,
        is_claimed,
        start: 0,
    };
    boxes.take_pin("till-7", &pin(own.key(), true).to_json());
    assert!(boxes.get("till-7").is_none());
    assert!(!boxes.take("till-7", 2, &other.says("till-7")));
    assert!(boxes.take("till-7", 3, &own.says("till-7")));
    assert_eq!(boxes.trust("till-7"), Trust::Claimed);
    // Another hub wrote it down who did not know that yet: it is mended.
    assert!(boxes.pin_to_put("till-7", 4).is_some());
    boxes.take_pin("till-7", &pin(own.key(), false).to_json());
    assert_eq!(boxes.trust("till-7"), Trust::Claimed);
    let (key, kept) = boxes.pin_to_put("till-7", 100).unwrap();
    assert_eq!(key, "key.till-7");
    boxes.take_pin("till-7", &kept);
    assert_eq!(boxes.pin_to_put("till-7", 200), None);
}
