"""Can neighbouring runs, which differ in a protected value alone, be told apart by how they went?"""
