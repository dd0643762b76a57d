extension TopicHash {
    /// The hash of a topic's name: SHA-1 (FIPS 180-4) of its UTF-8 bytes. It names and protects nothing.
    package init(topic: String) {
        var message = Array(topic.utf8)
        let bits = UInt64(message.count) * 8
        message.append(0x80)
        while message.count % 64 != 56 { message.append(0) }
        message.append(addingCapacity: 8) { $0.append(bigEndian: bits) }

        var state = SHA1State()
        for start in stride(from: 0, to: message.count, by: 64) { state.add(block: message.span, at: start) }
        self.init(words: (state.a, state.b, state.c, state.d, state.e))
    }
}

private struct SHA1State {
    var a: UInt32 = 0x6745_2301
    var b: UInt32 = 0xefcd_ab89
    var c: UInt32 = 0x98ba_dcfe
    var d: UInt32 = 0x1032_5476
    var e: UInt32 = 0xc3d2_e1f0

    mutating func add(block: Span<UInt8>, at start: Int) {
        var schedule = (0..<16).map { word in
            (0..<4).reduce(UInt32(0)) { $0 << 8 | UInt32(block[start + 4 * word + $1]) }
        }
        for index in 16..<80 {
            let mixed = schedule[index - 3] ^ schedule[index - 8] ^ schedule[index - 14] ^ schedule[index - 16]
            schedule.append(rotate(mixed, 1))
        }
        let before = self
        for index in 0..<80 {
            let (mix, constant) = step(index)
            let next = rotate(a, 5) &+ mix &+ e &+ constant &+ schedule[index]
            (a, b, c, d, e) = (next, a, rotate(b, 30), c, d)
        }
        a &+= before.a
        b &+= before.b
        c &+= before.c
        d &+= before.d
        e &+= before.e
    }

    private func step(_ index: Int) -> (mix: UInt32, constant: UInt32) {
        switch index {
        case 0..<20: ((b & c) | (~b & d), 0x5a82_7999)
        case 20..<40: (b ^ c ^ d, 0x6ed9_eba1)
        case 40..<60: ((b & c) | (b & d) | (c & d), 0x8f1b_bcdc)
        default: (b ^ c ^ d, 0xca62_c1d6)
        }
    }
}

private func rotate(_ word: UInt32, _ count: UInt32) -> UInt32 { word << count | word >> (32 - count) }
