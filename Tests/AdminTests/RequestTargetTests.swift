import Testing

@testable import Admin

@Suite struct RequestTargetTests {
    @Test func `path and query are parted and unescaped`() {
        let target = RequestTarget(
            "/v1/apps/com%2Eexample%20x+y?topic=a%26b&name=J%C3%BC+rgen&flag&x=1=2&topic=last"
        )
        #expect(target.path == "/v1/apps/com.example x+y")
        #expect(target.query == ["topic": "last", "name": "Jü rgen", "flag": "", "x": "1=2"])
    }

    @Test(arguments: ["%", "%4", "%zz", "%+1", "%-1"])
    func `a per cent sign that begins no escape stays`(_ text: String) {
        #expect(RequestTarget("/" + text).path == "/" + text)
    }

    @Test func `a path may be empty and a query too`() {
        #expect(RequestTarget("").path.isEmpty)
        #expect(RequestTarget("/?").query.isEmpty)
        #expect(RequestTarget("?a=b").query == ["a": "b"])
        #expect(RequestTarget("/?&&=&").query == ["": ""])
    }

    @Test func `bytes that are not UTF-8 are replaced and NUL stays`() {
        #expect(RequestTarget("/%FFx%00y").path == "/\u{FFFD}x\u{0}y")
    }
}
