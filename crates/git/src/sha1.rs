//! SHA-1, with which git names objects. No security depends on it: the named content is ralph's own.

const BLOCK_BYTES: usize = 64;
const LENGTH_BYTES: usize = 8;
const START: [u32; 5] = [0x6745_2301, 0xefcd_ab89, 0x98ba_dcfe, 0x1032_5476, 0xc3d2_e1f0];

/// Returns the digest of `bytes` (FIPS 180-4).
pub(super) fn sha1(bytes: &[u8]) -> [u8; 20] {
    let mut padded = bytes.to_vec();
    padded.push(0x80);
    let whole = (padded.len() + LENGTH_BYTES).next_multiple_of(BLOCK_BYTES);
    padded.resize(whole - LENGTH_BYTES, 0);
    padded.extend((bytes.len() as u64 * 8).to_be_bytes());
    let state = padded.chunks_exact(BLOCK_BYTES).fold(START, compress);
    let mut digest = [0; 20];
    for (part, word) in digest.chunks_exact_mut(4).zip(state) {
        part.copy_from_slice(&word.to_be_bytes());
    }
    digest
}

fn compress(state: [u32; 5], block: &[u8]) -> [u32; 5] {
    let mut words = [0; 80];
    for (word, bytes) in words.iter_mut().zip(block.chunks_exact(4)) {
        *word = bytes.iter().fold(0, |word, byte| word << 8 | u32::from(*byte));
    }
    for at in 16..words.len() {
        words[at] = (words[at - 3] ^ words[at - 8] ^ words[at - 14] ^ words[at - 16]).rotate_left(1);
    }
    let [mut a, mut b, mut c, mut d, mut e] = state;
    for (at, word) in words.into_iter().enumerate() {
        let (mixed, constant) = match at {
            0..20 => ((b & c) | (!b & d), 0x5a82_7999),
            20..40 => (b ^ c ^ d, 0x6ed9_eba1),
            40..60 => ((b & c) | (b & d) | (c & d), 0x8f1b_bcdc),
            _ => (b ^ c ^ d, 0xca62_c1d6),
        };
        let next = [a.rotate_left(5), mixed, e, constant, word];
        let next = next.into_iter().fold(0, u32::wrapping_add);
        (a, b, c, d, e) = (next, a, b.rotate_left(30), c, d);
    }
    let mut sum = state;
    for (word, more) in sum.iter_mut().zip([a, b, c, d, e]) {
        *word = word.wrapping_add(more);
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hex(bytes: &[u8]) -> String {
        sha1(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
    }

    #[test]
    fn the_examples_of_the_standard_are_met() {
        assert_eq!(hex(b"abc"), "a9993e364706816aba3e25717850c26c9cd0d89d");
        let two_blocks = b"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";
        assert_eq!(hex(two_blocks), "84983e441c3bd26ebaae4aa1f95129e5e54670f1");
        assert_eq!(hex(&[b'a'; 1_000_000]), "34aa973cd4c4daa4f61eeb2bdbad27316534016f");
    }

    #[test]
    fn the_empty_blob_has_the_name_that_git_gives_it() {
        assert_eq!(hex(b"blob 0\0"), "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391");
    }

    #[test]
    fn every_length_around_a_block_is_padded_to_whole_blocks() {
        // The digest of the digests of 0 to 199 letters, according to `sha1sum`.
        let all: String = (0..200).map(|length| hex(&vec![b'x'; length])).collect();
        assert_eq!(hex(all.as_bytes()), "f024a06f9df4db3a81e536a8d16895eb9a9defb5");
    }
}
