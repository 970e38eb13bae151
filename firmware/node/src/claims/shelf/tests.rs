use core::time::Duration;

use frond_account::nkey::KeyPair;

use super::*;

fn key(n: u8) -> String {
    KeyPair::from_random(Role::Account, &[n; 32]).public_key()
}

fn jwt(n: u8, issued_at: i64, expires: i64) -> String {
    let operator = KeyPair::from_random(Role::Operator, &[99; 32]);
    let mut claims = AccountClaims::about(&key(n));
    (claims.issued_at, claims.expires) = (issued_at, expires);
    claims.encode(&operator).unwrap()
}

const ZERO: Instant = Instant::from_nanos(0);

fn new(evicted: Option<String>) -> Result<Saved, &'static str> {
    Ok(Saved::New { evicted })
}

#[test]
fn equal_shelves_have_equal_hashes_in_any_order() {
    let (mut a, mut b) = (Shelf::default(), Shelf::default());
    for n in [1, 2, 3] {
        a.save(ZERO, &key(n), &jwt(n, 1, 0)).unwrap();
    }
    for n in [3, 1, 2] {
        b.save(ZERO, &key(n), &jwt(n, 1, 0)).unwrap();
    }
    assert_eq!(a.hash(), b.hash());
    assert_eq!(a.save(ZERO, &key(1), &jwt(1, 1, 0)), Ok(Saved::Same));
    assert_eq!(a.save(ZERO, &key(1), &jwt(1, 2, 0)), new(None));
    assert_ne!(a.hash(), b.hash());
    for n in [1, 2, 3] {
        assert!(a.remove(&key(n)));
    }
    assert!(!a.remove(&key(1)));
    assert_eq!((a.hash(), a.bytes), (Shelf::default().hash(), 0));
}

#[test]
fn a_full_shelf_refuses_or_evicts_the_least_used() {
    let full = |when_full| {
        let mut shelf = Shelf::new(Rules {
            limit: Some(2),
            when_full,
            ttl: None,
        });
        shelf.save(ZERO, &key(1), &jwt(1, 1, 0)).unwrap();
        shelf.save(ZERO, &key(2), &jwt(2, 1, 0)).unwrap();
        assert!(shelf.get(ZERO, &key(1)).is_some());
        assert_eq!(shelf.save(ZERO, &key(1), &jwt(1, 2, 0)), new(None));
        shelf
    };
    let mut refusing = full(WhenFull::Refuses);
    assert_eq!(
        refusing.save(ZERO, &key(3), &jwt(3, 1, 0)),
        Err("jwt store is full")
    );
    let mut evicting = full(WhenFull::Evicts);
    let saved = evicting.save(ZERO, &key(3), &jwt(3, 1, 0));
    assert_eq!(saved, new(Some(key(2))));
    assert!(evicting.get(ZERO, &key(2)).is_none() && evicting.get(ZERO, &key(1)).is_some());
}

#[test]
fn an_old_jwt_is_not_fresh_and_stays() {
    let mut shelf = Shelf::new(Rules {
        ttl: Some(Duration::from_secs(10)),
        ..Rules::default()
    });
    shelf.save(ZERO, &key(1), &jwt(1, 1, 0)).unwrap();
    let at = |seconds| ZERO + Duration::from_secs(seconds);
    assert!(shelf.is_fresh(at(9), &key(1)));
    assert!(shelf.get(at(9), &key(1)).is_some());
    assert!(shelf.is_fresh(at(18), &key(1)), "taking it renews it");
    assert!(!shelf.is_fresh(at(19), &key(1)));
    assert!(shelf.get(at(19), &key(1)).is_some());
    assert!(!shelf.is_fresh(at(20), &key(1)), "but not when it is old");
}

#[test]
fn only_newer_jwts_of_the_same_account_are_wanted() {
    let mut shelf = Shelf::default();
    assert_eq!(shelf.wants(&key(1), &jwt(1, 5, 0)), Ok(true));
    shelf.save(ZERO, &key(1), &jwt(1, 5, 0)).unwrap();
    assert_eq!(shelf.wants(&key(1), &jwt(1, 5, 0)), Ok(false));
    assert_eq!(shelf.wants(&key(1), &jwt(1, 4, 0)), Ok(false));
    assert_eq!(shelf.wants(&key(1), &jwt(1, 6, 0)), Ok(true));
    assert!(shelf.wants(&key(1), &jwt(2, 6, 0)).is_err());
    assert!(shelf.wants(&key(1), "rubbish").is_err());
}

#[test]
fn expired_accounts_are_not_told() {
    let mut shelf = Shelf::default();
    shelf.save(ZERO, &key(1), &jwt(1, 1, 0)).unwrap();
    shelf.save(ZERO, &key(2), &jwt(2, 1, 100)).unwrap();
    assert_eq!(shelf.holding(100).count(), 2);
    let held: Vec<_> = shelf.holding(101).map(|(key, _)| key.to_owned()).collect();
    assert_eq!(held, [key(1)]);
}

#[test]
fn what_is_no_account_is_not_taken() {
    let mut shelf = Shelf::default();
    assert_eq!(shelf.save(ZERO, &key(1), ""), Err("invalid JWT"));
    assert_eq!(shelf.save(ZERO, "../x", "x"), Err("invalid public key"));
}
