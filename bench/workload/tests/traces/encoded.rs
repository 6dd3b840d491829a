//! Writes query traces as RocksDB does (`trace_replay/trace_replay.cc`, `db/write_batch.cc`).

/// A trace with its header and footer.
pub(crate) fn trace(version: &str, records: &[(u8, Vec<u8>)]) -> Vec<u8> {
    let header = format!(
        "feedcafedeadbeef\tTrace Version: {version}\tRocksDB Version: 11.8\tFormat: Timestamp OpType Payload\n"
    );
    let mut bytes = record(1, header.as_bytes());
    records.iter().for_each(|(kind, payload)| bytes.extend(record(*kind, payload)));
    bytes.extend(record(2, b""));
    bytes
}

fn record(kind: u8, payload: &[u8]) -> Vec<u8> {
    let mut bytes = 1_700_000_000_000_000u64.to_le_bytes().to_vec();
    bytes.push(kind);
    bytes.extend((payload.len() as u32).to_le_bytes());
    bytes.extend(payload);
    bytes
}

pub(crate) fn string(bytes: &[u8]) -> Vec<u8> {
    let mut all = varint(bytes.len());
    all.extend(bytes);
    all
}

pub(crate) fn varint(mut value: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
    bytes
}

/// A payload of these parts, by their bits.
pub(crate) fn payload(parts: &[(u32, Vec<u8>)]) -> Vec<u8> {
    let map: u64 = parts.iter().map(|(bit, _)| 1 << bit).sum();
    let mut bytes = map.to_le_bytes().to_vec();
    parts.iter().for_each(|(_, part)| bytes.extend(part));
    bytes
}

pub(crate) fn get(family: u32, key: &[u8]) -> (u8, Vec<u8>) {
    (4, payload(&[(2, family.to_le_bytes().to_vec()), (3, string(key))]))
}

pub(crate) fn multi_get(keys: &[(u32, &[u8])]) -> (u8, Vec<u8>) {
    let families: Vec<u8> = keys.iter().flat_map(|(family, _)| family.to_le_bytes()).collect();
    let strings: Vec<u8> = keys.iter().flat_map(|(_, key)| string(key)).collect();
    let size = (keys.len() as u32).to_le_bytes().to_vec();
    (13, payload(&[(8, size), (9, string(&families)), (10, string(&strings))]))
}

pub(crate) fn seek(kind: u8, key: &[u8], upper_bound: Option<&[u8]>) -> (u8, Vec<u8>) {
    let mut parts = vec![(4, 0u32.to_le_bytes().to_vec()), (5, string(key))];
    parts.extend(upper_bound.map(|bound| (7, string(bound))));
    (kind, payload(&parts))
}

/// A write of a batch of these records.
pub(crate) fn write(records: &[Vec<u8>]) -> (u8, Vec<u8>) {
    (3, payload(&[(1, string(&batch(records)))]))
}

pub(crate) fn batch(records: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = 7u64.to_le_bytes().to_vec();
    bytes.extend((records.len() as u32).to_le_bytes());
    records.iter().for_each(|record| bytes.extend(record));
    bytes
}

/// A record of a batch: a tag and strings.
pub(crate) fn tagged(tag: u8, strings: &[&[u8]]) -> Vec<u8> {
    let mut bytes = vec![tag];
    strings.iter().for_each(|text| bytes.extend(string(text)));
    bytes
}
