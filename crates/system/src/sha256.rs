//! SHA-256 (FIPS 180-4): programs name files after it.

use std::io::{self, Read};

const BLOCK: usize = 64;
const START: [u32; 8] = [
    0x6a09_e667,
    0xbb67_ae85,
    0x3c6e_f372,
    0xa54f_f53a,
    0x510e_527f,
    0x9b05_688c,
    0x1f83_d9ab,
    0x5be0_cd19,
];
#[rustfmt::skip]
const ROUNDS: [u32; BLOCK] = [
    0x428a_2f98, 0x7137_4491, 0xb5c0_fbcf, 0xe9b5_dba5, 0x3956_c25b, 0x59f1_11f1, 0x923f_82a4, 0xab1c_5ed5,
    0xd807_aa98, 0x1283_5b01, 0x2431_85be, 0x550c_7dc3, 0x72be_5d74, 0x80de_b1fe, 0x9bdc_06a7, 0xc19b_f174,
    0xe49b_69c1, 0xefbe_4786, 0x0fc1_9dc6, 0x240c_a1cc, 0x2de9_2c6f, 0x4a74_84aa, 0x5cb0_a9dc, 0x76f9_88da,
    0x983e_5152, 0xa831_c66d, 0xb003_27c8, 0xbf59_7fc7, 0xc6e0_0bf3, 0xd5a7_9147, 0x06ca_6351, 0x1429_2967,
    0x27b7_0a85, 0x2e1b_2138, 0x4d2c_6dfc, 0x5338_0d13, 0x650a_7354, 0x766a_0abb, 0x81c2_c92e, 0x9272_2c85,
    0xa2bf_e8a1, 0xa81a_664b, 0xc24b_8b70, 0xc76c_51a3, 0xd192_e819, 0xd699_0624, 0xf40e_3585, 0x106a_a070,
    0x19a4_c116, 0x1e37_6c08, 0x2748_774c, 0x34b0_bcb5, 0x391c_0cb3, 0x4ed8_aa4a, 0x5b9c_ca4f, 0x682e_6ff3,
    0x748f_82ee, 0x78a5_636f, 0x84c8_7814, 0x8cc7_0208, 0x90be_fffa, 0xa450_6ceb, 0xbef9_a3f7, 0xc671_78f2,
];

/// Returns the digest of everything that `from` has, in hexadecimal digits.
///
/// # Errors
/// If it cannot be read.
pub fn sha256(mut from: impl Read) -> io::Result<String> {
    let (mut state, mut bytes, mut chunk) = (START, 0_u64, vec![0; 1 << 16]);
    loop {
        let mut filled = 0;
        while filled < chunk.len() {
            match from.read(&mut chunk[filled..]) {
                Ok(0) => break,
                Ok(read) => filled += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        bytes += filled as u64;
        let is_last = filled < chunk.len();
        let mut last = Vec::new();
        let whole = filled - filled % BLOCK;
        if is_last {
            last.extend_from_slice(&chunk[whole..filled]);
            last.push(0x80);
            while last.len() % BLOCK != BLOCK - 8 {
                last.push(0);
            }
            last.extend_from_slice(&(bytes * 8).to_be_bytes());
        }
        let blocks = chunk[..whole].chunks_exact(BLOCK).chain(last.chunks_exact(BLOCK));
        blocks.for_each(|block| compress(&mut state, block));
        if is_last {
            return Ok(state.map(|word| format!("{word:08x}")).concat());
        }
    }
}

fn compress(state: &mut [u32; 8], block: &[u8]) {
    let mut words = [0_u32; BLOCK];
    for (word, bytes) in words.iter_mut().zip(block.chunks_exact(4)) {
        *word = bytes.iter().fold(0, |word, byte| word << 8 | u32::from(*byte));
    }
    for at in 16..BLOCK {
        let (early, late) = (words[at - 15], words[at - 2]);
        let early = early.rotate_right(7) ^ early.rotate_right(18) ^ early >> 3;
        let late = late.rotate_right(17) ^ late.rotate_right(19) ^ late >> 10;
        words[at] = words[at - 16]
            .wrapping_add(early)
            .wrapping_add(words[at - 7])
            .wrapping_add(late);
    }
    let [mut a, mut b, mut c, mut d, mut e, mut f, mut g, mut h] = *state;
    for (word, round) in words.iter().zip(ROUNDS) {
        let choice = e & f ^ !e & g;
        let of_e = e.rotate_right(6) ^ e.rotate_right(11) ^ e.rotate_right(25);
        let first = h
            .wrapping_add(of_e)
            .wrapping_add(choice)
            .wrapping_add(round)
            .wrapping_add(*word);
        let majority = a & b ^ a & c ^ b & c;
        let of_a = a.rotate_right(2) ^ a.rotate_right(13) ^ a.rotate_right(22);
        (h, g, f, e) = (g, f, e, d.wrapping_add(first));
        (d, c, b, a) = (c, b, a, first.wrapping_add(of_a).wrapping_add(majority));
    }
    for (word, add) in state.iter_mut().zip([a, b, c, d, e, f, g, h]) {
        *word = word.wrapping_add(add);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digests_are_those_of_the_standard() {
        let digest = |text: &str| sha256(text.as_bytes()).unwrap();
        for (text, expected) in [
            ("", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
            (
                "abc",
                "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
            ),
            (
                "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
                "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1",
            ),
            (
                &"a".repeat(1_000_000),
                "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0",
            ),
            (
                &"a".repeat(1 << 16),
                "bf718b6f653bebc184e1479f1935b8da974d701b893afcf49e701f3e2f9f9c5a",
            ),
        ] {
            assert_eq!(digest(text), expected, "{} bytes", text.len());
        }
    }
}
