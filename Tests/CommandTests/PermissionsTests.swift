import Testing

@testable import carillon

@Suite struct PermissionsTests {
    private func problem(mode: UInt32, owner: UInt32 = 1000, user: UInt32 = 1000, directory: Bool = false) -> String? {
        Permissions.problem("x", FileAccess(mode: mode, owner: owner, isDirectory: directory), user: user)
    }

    @Test(arguments: [0o600, 0o400, 0o700] as [UInt32])
    func `what only its owner can reach is well`(_ mode: UInt32) {
        #expect(problem(mode: mode) == nil)
    }

    @Test(arguments: [0o640, 0o604, 0o610, 0o644, 0o666] as [UInt32], [0, 1000] as [UInt32])
    func `what others can reach is refused with what to type, also to root`(_ mode: UInt32, _ user: UInt32) {
        #expect(problem(mode: mode, user: user)?.hasSuffix("type: chmod 600 x") == true)
        #expect(problem(mode: mode, user: user, directory: true)?.hasSuffix("type: chmod 700 x") == true)
    }

    @Test func `another user's file is refused, also to root, and root's is not`() {
        #expect(problem(mode: 0o600, owner: 1001)?.hasSuffix("type: chown 1000 x") == true)
        #expect(problem(mode: 0o600, owner: 0) == nil)
        #expect(problem(mode: 0o600, owner: 1001, user: 0)?.hasSuffix("type: chown 0 x") == true)
    }
}
