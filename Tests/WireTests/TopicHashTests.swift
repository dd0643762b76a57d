import Testing

@testable import Wire

@Suite struct TopicHashTests {
    @Test func `a hash has twenty bytes`() {
        #expect(TopicHash([UInt8](repeating: 1, count: 19)) == nil)
        #expect(TopicHash([UInt8](repeating: 1, count: 21)) == nil)
        #expect(TopicHash(Array(1...20))?.bytes == Array(1...20))
    }

    @Test func `hashes that differ in any byte are different`() {
        for index in 0..<TopicHash.count {
            var bytes = topic.bytes
            bytes[index] ^= 1
            #expect(TopicHash(bytes) != topic)
        }
        #expect(Set([topic, topic, otherTopic(1)]).count == 2)
    }
}
