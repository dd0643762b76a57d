import Admin
import Testing

@Suite struct SecretBytesTests {
    @Test func `what is taken is zero where it was`() {
        var source = Array("topsecret".utf8)
        let secret = SecretBytes(taking: &source)
        #expect(source == [UInt8](repeating: 0, count: 9))
        #expect(secret.withSpan { span in span.indices.map { span[$0] } } == Array("topsecret".utf8))
    }

    @Test func `nothing may be secret too`() {
        var nothing: [UInt8] = []
        #expect(SecretBytes(taking: &nothing).count == 0)
        #expect(SecretBytes(copying: []).withSpan { $0.isEmpty })
    }
}
