//! What a store holds when a replay begins, and what it is asked.

use springbloom_workload::{Counts, KeySpace, Operation, Replay};

use crate::{read, read_with_keys};

fn key(keys: &KeySpace, record: u64) -> Vec<u8> {
    let mut key = Vec::new();
    keys.present(record, &mut key);
    key
}

fn all(replay: &Replay) -> Vec<Operation> {
    replay.playback(0, 1).collect()
}

#[test]
fn the_first_part_decides_what_is_loaded() {
    let text =
        b"put,c\nput,b\nget,x\nput,a\nput,c\ndelete,b\nget,a\nget,b\nput,x\nget,x\ndelete,a\nseek,q\nget,a\n";
    let (keys, replay) = read(text).expect("trace").replay_after(6);
    let keys = KeySpace::Trace(keys);
    assert_eq!((keys.records(), keys.key_bytes(), keys.can_grow()), (2, 2, false));
    // In the order of their last writes.
    assert_eq!((key(&keys, 0), key(&keys, 1)), (b"a".to_vec(), b"c".to_vec()));
    let [a, b, x, q] = [0, 2, 3, 4];
    assert_eq!([b, x, q].map(|record| key(&keys, record)[0]), *b"bxq");
    assert!(keys.has_key(q) && !keys.has_key(q + 1));
    use Operation::{Delete, Read, Seek, Update};
    let expected = [Read(a), Read(b), Update(x), Read(x), Delete(a), Seek(q), Read(a)];
    assert_eq!(all(&replay), expected);
    assert!(replay.writes());
    assert_eq!(replay.counts(0..7), Counts { gets: 4, absent_gets: 2 });
    // What was done before a part counts for it.
    assert_eq!(replay.counts(3..7), Counts { gets: 2, absent_gets: 1 });
}

#[test]
fn streams_share_the_keys() {
    let (_, replay) = read(b"get,a\nget,b\nget,c\nget,b\nget,a\n").expect("trace").replay_after(0);
    assert!(!replay.writes());
    let [first, second] = [0, 1].map(|stream| replay.playback(stream, 2).collect::<Vec<_>>());
    assert_eq!(first, [0, 2, 0].map(Operation::Read));
    assert_eq!(second, [1, 1].map(Operation::Read));
}

#[test]
fn keys_of_unknown_age_are_loaded_in_a_random_order_before_the_others() {
    let before: String = (0..50).map(|n| format!("k{n:02}\n")).collect();
    let (keys, _) =
        read_with_keys(b"put,z\nput,y\nput,k07\nget,q", before.as_bytes()).expect("trace").replay_after(3);
    let keys = KeySpace::Trace(keys);
    assert_eq!(keys.records(), 52);
    let order = keys.load_order(52, 1);
    let loaded: Vec<_> = (0..52).map(&order).collect();
    assert_eq!(
        [49, 50, 51].map(|index| key(&keys, loaded[index])),
        [b"z".to_vec(), b"y".to_vec(), b"k07".to_vec()]
    );
    let mut unordered = loaded[..49].to_vec();
    assert!(!unordered.is_sorted(), "{unordered:?}");
    unordered.sort_unstable();
    assert_eq!(unordered, (0..49).collect::<Vec<_>>());
    // A load of fewer records writes each once, too.
    let order = keys.load_order(20, 1);
    let mut fewer: Vec<_> = (0..20).map(&order).collect();
    fewer.sort_unstable();
    assert_eq!(fewer, (0..20).collect::<Vec<_>>());
}
