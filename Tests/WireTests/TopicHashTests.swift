import Testing

@testable import Wire

@Suite struct TopicHashTests {
    @Test(arguments: [
        ("com.example.app", "a003f1da17993ee51f2b3ceef6c6153afa8f3ec2"),
        ("com.apple.madrid", "e4e6d952954168d0a5db02dbaf27cc35fc18d159"),
        ("", "da39a3ee5e6b4b0d3255bfef95601890afd80709"), ("abc", "a9993e364706816aba3e25717850c26c9cd0d89d"),
        (
            "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", "84983e441c3bd26ebaae4aa1f95129e5e54670f1"
        ),
    ])
    func `a topic's hash is the SHA-1 of its name`(_ name: String, _ hash: String) {
        #expect(TopicHash(topic: name).bytes == hex(hash))
    }

    @Test func `a hash has twenty bytes`() {
        #expect(TopicHash([UInt8](repeating: 1, count: 19)) == nil)
        #expect(TopicHash([UInt8](repeating: 1, count: 21)) == nil)
        #expect(TopicHash(topic.bytes) == topic)
    }
}
