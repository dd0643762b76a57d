import Testing

@testable import carillon

@Suite struct ArchiveTests {
    @Test(arguments: [0, 1, 511, 512, 8_589_934_591, 8_589_934_592, 1 << 50])
    func `a header says what was written into it`(_ size: Int) {
        let entry = ArchiveEntry(name: "pki/ca.pem", size: size)
        let block = ArchiveHeader.bytes(entry, time: 1_796_056_335)
        #expect(block.count == 512)
        #expect(ArchiveHeader.entry(block) == entry)
    }

    @Test func `a header with any other byte is refused, or says another name or size`() {
        let entry = ArchiveEntry(name: "pki/ca.pem", size: 700)
        let block = ArchiveHeader.bytes(entry, time: 0)
        for place in block.indices {
            var changed = block
            changed[place] ^= 0x10
            // Only what the sum itself does not count may pass: what stands behind its digits.
            if let read = ArchiveHeader.entry(changed) { #expect(read == entry && (154..<156).contains(place)) }
        }
    }

    @Test(arguments: ["", "/etc/passwd", "..", "../a", "a/../b", "a/.."])
    func `a name that leads out of the folder is refused`(_ name: String) {
        #expect(ArchiveHeader.entry(ArchiveHeader.bytes(ArchiveEntry(name: name, size: 0), time: 0)) == nil)
    }

    @Test func `what is shorter than a block is no header`() {
        #expect(ArchiveHeader.entry([]) == nil)
        #expect(ArchiveHeader.entry([UInt8](repeating: 1, count: 512)) == nil)
    }
}
