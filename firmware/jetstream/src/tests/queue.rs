//! How many requests wait at once, and who is told when they are too many.

use frond_wire::MessageBuf;

use super::world::World;
use crate::Facts;

const ADVISORY: &str = "$JS.EVENT.ADVISORY.API.LIMIT_REACHED";
const TOO_MANY: &str = "\"err_code\":10167";

fn world(requests: usize, infos: usize) -> World {
    let mut world = World::with(Facts {
        requests_waiting_max: requests,
        infos_waiting_max: infos,
        domain: Some("shop".into()),
        ..Facts::default()
    });
    // It is asked nothing here: every request is the account's.
    let subs = world.subs.clone();
    world.ask_as_system("$JS.API.INFO");
    world.subs = subs;
    world
}

fn create(world: &mut World, name: &str) -> u64 {
    let body = format!("{{\"name\":\"{name}\",\"subjects\":[\"{name}\"]}}");
    let number = world.send(
        &format!("$JS.API.STREAM.CREATE.{name}"),
        &[],
        body.as_bytes(),
    );
    world.drain();
    number
}

fn advisories(world: &World) -> Vec<String> {
    let sent = world.sent.iter().filter(|sent| sent.to == ADVISORY);
    let text = |message: &MessageBuf| String::from_utf8_lossy(message.message().payload).into();
    sent.map(|sent| text(&sent.message)).collect()
}

#[test]
fn who_finds_no_place_is_refused_and_the_operator_hears_of_it() {
    let mut world = world(3, 3);
    world.listen(ADVISORY);
    world.is_prompt = false;
    let taken: Vec<u64> = ["A", "B", "C"].map(|name| create(&mut world, name)).into();
    assert!(taken.iter().all(|number| world.answer(*number).is_none()));
    let refused = ["D", "E"].map(|name| create(&mut world, name));
    for number in refused {
        let answer = world.answer(number).unwrap();
        assert!(answer.contains(TOO_MANY), "{answer}");
    }
    let told = advisories(&world);
    assert_eq!(told.len(), 2);
    assert!(
        told[0].contains(r#""server":"frond","domain":"shop","dropped":1}"#),
        "{told:?}"
    );
    let logged = world
        .logs
        .iter()
        .filter(|line| line.contains("limit reached"));
    assert_eq!(logged.count(), 1, "{:?}", world.logs);

    world.is_prompt = true;
    world.drain();
    assert!(
        taken
            .iter()
            .all(|number| world.answer(*number).unwrap().contains("did_create"))
    );
    let again = create(&mut world, "D");
    assert!(world.answer(again).unwrap().contains("did_create"));
}

#[test]
fn questions_have_places_of_their_own() {
    let mut world = world(1, 2);
    world.is_prompt = false;
    create(&mut world, "A");
    let asked = [0, 1, 2].map(|_| {
        let number = world.send("$JS.API.STREAM.INFO.A", &[], b"");
        world.drain();
        number
    });
    assert_eq!(world.answer(asked[1]), None);
    assert!(world.answer(asked[2]).unwrap().contains(TOO_MANY));
    // What waits for nothing is answered.
    assert!(world.ask("$JS.API.INFO", "").contains("\"streams\":0"));
    assert!(advisories(&world).is_empty(), "nobody listens");
    world.is_prompt = true;
    world.drain();
    for number in &asked[..2] {
        assert!(world.answer(*number).unwrap().contains("\"config\""));
    }
}

#[test]
fn reads_that_wait_for_the_disk_count() {
    let mut world = world(2, 2);
    world.create("S", r#""subjects":["s"]"#);
    for _ in 0..3 {
        world.ask("s", "x");
    }
    world.restart();
    world.reads = Some(Vec::new());
    let reads = [1, 2, 3].map(|seq| {
        let body = format!("{{\"seq\":{seq}}}");
        let number = world.send("$JS.API.STREAM.MSG.GET.S", &[], body.as_bytes());
        world.drain();
        number
    });
    assert_eq!(world.answer(reads[1]), None);
    assert!(world.answer(reads[2]).unwrap().contains(TOO_MANY));
    world.reads_come();
    assert!(world.answer(reads[0]).unwrap().contains("\"seq\":1"));
    assert!(
        world
            .ask("$JS.API.STREAM.MSG.GET.S", r#"{"seq":3}"#)
            .contains("\"seq\":3")
    );
}
